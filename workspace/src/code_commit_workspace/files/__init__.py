"""Files of a project: read without trusting them, write whole, remove."""
