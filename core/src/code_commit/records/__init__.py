"""Plain records and protocols, one subject a module; `code_commit.plugin_api` is where plugins find them."""
