"""Write each run as one HTML page, and an index of all runs."""

__version__ = "0.1.0"
