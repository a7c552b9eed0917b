"""Posts the endings of code-commit's runs to a web address."""
