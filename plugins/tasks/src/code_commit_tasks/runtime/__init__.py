"""Runs the code of an answer in a process of its own that may do nothing but ask the host to call tools."""
