"""The terminal: what it shows, what it can show, what a person answers."""
