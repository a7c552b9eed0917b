"""The flags for a query, which workflows of several plugins share. Every start imports them."""

from __future__ import annotations

from code_commit.plugin_api.definitions import Flag

QUERY_FLAGS = (
    Flag(
        ("--query",),
        "describe the change, or what to look at, instead of agent-config/query.txt",
        metavar="TEXT",
        for_programs=True,
    ),
    Flag(
        ("--query-file",),
        "read the query from a file; - is stdin",
        metavar="FILE",
    ),
)
