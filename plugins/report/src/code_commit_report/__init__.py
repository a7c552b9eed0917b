"""Write each run as one HTML page, and an index of all runs."""
