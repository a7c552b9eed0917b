"""Which plugins are installed, and what they offer."""
