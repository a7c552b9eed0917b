"""Acceptance checks of code-commit: tests of before, signals of weakened checks, a reviewer."""
