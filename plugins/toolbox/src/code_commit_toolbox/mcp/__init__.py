"""The tools of MCP servers. Nothing but `servers` is imported before a server is used."""
