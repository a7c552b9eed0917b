"""Lists the TODO comments of a project, as a command of code-commit."""
