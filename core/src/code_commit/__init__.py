"""code-commit changes a codebase through an LLM and lets the project's build judge the change."""

__version__ = "0.1.0"
