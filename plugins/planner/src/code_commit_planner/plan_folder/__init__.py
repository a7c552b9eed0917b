"""The folder `g3-plan`: its files, and what they say."""
