"""`code-commit runs`: one module for each thing that can be done with earlier runs."""
