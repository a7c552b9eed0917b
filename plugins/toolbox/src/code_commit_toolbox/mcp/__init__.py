"""The tools of MCP servers. Only `servers` is imported before a server is used."""
