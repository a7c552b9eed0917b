"""Which model a name means, and the chain of layers that each call of it goes through."""
