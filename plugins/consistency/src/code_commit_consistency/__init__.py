"""The consistency report: contradictions between a project and its user specification."""
