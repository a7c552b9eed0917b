"""The consistency report: contradictions between a project and its user specification."""

__version__ = "0.1.0"
