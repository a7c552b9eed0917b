"""Sends runs as OpenTelemetry traces."""
