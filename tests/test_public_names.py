"""The public names of the workspace and of `plugin_api`: a change of them is a decision.

A new name is one more thing to know, and no release takes it away silently.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import code_commit_workspace
from code_commit import plugin_api

LISTS = Path(__file__).parent / "public_names"
# At most 40 of the workspace, each of use to a program without models and plugins: what only the
# host uses lives in the host.
MOST_OF_WORKSPACE = 40
ADVICE = (
    "If others should import other names than before, change the list in {list}, docs/plugins/api.md"
    " or docs/plugins/workspace-reference.md, and describe it in news/."
    " What plugins imported from the workspace stays in plugin_api."
)


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("code_commit_workspace", {*code_commit_workspace.__all__} - {"__version__"}),
        ("plugin_api", {*dir(plugin_api)}),
    ],
)
def test_the_public_names_are_those_of_the_list(module: str, names: set[str]) -> None:
    listed = LISTS / f"{module}.txt"
    assert listed.read_text("utf-8").split() == sorted(names), ADVICE.format(list=listed)


def test_the_workspace_has_few_public_names() -> None:
    assert len(code_commit_workspace.__all__) - 1 <= MOST_OF_WORKSPACE
