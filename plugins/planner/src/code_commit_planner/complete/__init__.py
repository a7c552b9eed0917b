"""The steps from completed requirements to the commit."""
