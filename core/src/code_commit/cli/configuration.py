"""`code-commit config`: every setting with its value and where it comes from; keys censored."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from code_commit.cli.parser import Parser
from code_commit.config.loading import load_settings
from code_commit.plugin_api.errors import ExitCode
from code_commit_workspace.terminal import printable


def config(argv: Sequence[str]) -> int:
    """Print the settings that a run in this folder would have."""
    parser = Parser(
        prog="code-commit config",
        description="Print every setting that a run here would have, and where it comes from. Keys are censored.",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    as_json = parser.parse_args(argv).json
    rows = load_settings(Path.cwd(), environ=os.environ).rows()
    if as_json:
        sys.stdout.write(json.dumps({"settings": [asdict(row) for row in rows]}, indent=2) + "\n")
        return ExitCode.REACHED
    width = max(len(row.name) for row in rows)
    for row in rows:
        value = json.dumps(row.value, ensure_ascii=False)
        sys.stdout.write(printable(f"{row.name:<{width}}  {value:<20}  {row.origin}") + "\n")
    return ExitCode.REACHED
