"""Discovery and loading of plugins, and the registry of their offers."""
