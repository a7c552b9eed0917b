"""Work that may never end, such as the search for a hostile pattern: each done by a script in a process of its own."""
