"""An MCP server for code-commit."""
