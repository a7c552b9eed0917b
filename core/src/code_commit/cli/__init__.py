"""The command line: arguments, the commands that list and undo, and what a person reads."""
