"""Suggest a response format for a project with large files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from code_commit.plugin_api import NotReady
from code_commit_commit.changed_parts import MANY_LINES
from code_commit_commit.formats import AUTO, EDITS, EDITS_OWNER, FILES
from code_commit_commit.left_out import exclude_paths
from code_commit_commit.rollup_text import LARGEST

if TYPE_CHECKING:
    from code_commit.plugin_api import Host
    from code_commit_workspace import Workspace


def format_hint(host: Host) -> str:
    """Return a line about the format for large files, or an empty text if it is of no use here."""
    if all(plugin.distribution != EDITS_OWNER for plugin in host.plugins):
        return ""
    try:
        if host.settings().response_format != FILES:
            return ""
        with host.workspace(repository="optional") as workspace:
            path = _first_large_file(workspace)
    except NotReady:
        return ""  # the next command says why
    if not path:
        return ""
    return (
        f"{path} has more than {MANY_LINES} lines. With the setting "
        f'response_format = "{AUTO}" in [plugins.commit], responses have only the changed parts of '
        f"files ({EDITS})."
    )


def _first_large_file(workspace: Workspace) -> str:
    """Return the first file of the code with many lines, or an empty text."""
    paths, _ = exclude_paths(workspace.files(), (), workspace.tree)
    for path, content in workspace.tree.contents(paths, LARGEST):
        if content and b"\0" not in content and content.count(b"\n") > MANY_LINES:
            return path
    return ""
