"""The default workflow of code-commit: changes code according to a query until the build passes."""
