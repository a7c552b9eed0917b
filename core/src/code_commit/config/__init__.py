"""Settings, the addresses of services, and keys."""
