"""Work that may never end, such as a search for a hostile pattern.

Each module is a script for a separate process.
"""
