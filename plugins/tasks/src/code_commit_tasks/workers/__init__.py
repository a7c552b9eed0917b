"""Work that may never end, such as the search for a hostile pattern: each is a script in a separate process."""
