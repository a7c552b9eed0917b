"""The steps that refine requirements."""
