"""Which model a name means, and how it is called."""
