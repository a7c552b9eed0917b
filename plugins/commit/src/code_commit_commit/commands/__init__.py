"""The commands that come with the commit workflow."""
