"""The tools themselves, one subject a module."""
