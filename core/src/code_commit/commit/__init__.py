"""The commit workflow: built in, and written as a plugin would be (see `plugin` for what it registers)."""
