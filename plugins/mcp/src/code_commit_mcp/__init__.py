"""An MCP server for code-commit."""

__version__ = "0.1.0"
