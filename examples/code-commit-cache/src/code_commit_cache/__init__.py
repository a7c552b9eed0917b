"""Answers repeated requests from a folder."""
