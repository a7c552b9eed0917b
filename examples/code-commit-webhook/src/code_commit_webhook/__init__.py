"""Posts the result of each run of code-commit to a URL."""
