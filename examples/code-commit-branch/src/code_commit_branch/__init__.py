"""Shows code-commit the files that changed on a branch."""
