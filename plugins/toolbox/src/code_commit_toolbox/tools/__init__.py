"""The first-party tools, one topic per module."""
