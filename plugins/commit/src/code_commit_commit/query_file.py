"""The file with the query of a run that gets none on the command line."""

from __future__ import annotations

QUERY = "agent-config/query.txt"
SAMPLE_QUERY = """\
Describe the change here in your own words: what the program should do
afterwards, and how to verify it.
"""


def is_sample(query: str) -> bool:
    """Return whether a query is still the sample text that `code-commit init` writes."""
    return query.split() == SAMPLE_QUERY.split()
