"""Sends runs as OpenTelemetry traces."""

__version__ = "0.1.0"
