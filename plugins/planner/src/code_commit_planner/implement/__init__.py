"""The steps that implement requirements."""
