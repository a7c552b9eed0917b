"""A path rule of code-commit: send replacements that leave code out back for repair."""
