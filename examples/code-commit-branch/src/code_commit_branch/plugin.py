"""The hooks of the plugin."""

from __future__ import annotations

from functools import partial
from typing import Any

from code_commit.plugin_api import hookimpl
from code_commit_commit.hooks import Context, ContextRequest, Selection


@hookimpl
def code_commit_settings() -> str:
    """Return the model of the section `[plugins.branch]`."""
    return "code_commit_branch.settings:BranchSettings"


@hookimpl(optionalhook=True)
def code_commit_contexts(settings: Any) -> list[Context]:
    """Return the context."""
    choose = partial(choose_changed, settings.base)
    return [Context("branch", "the files that changed on this branch", choose)]


def choose_changed(base: str, request: ContextRequest) -> Selection:
    """Choose the files that differ from `base`, or all files if none does."""
    options = ("--name-only", "-z", "--relative", "--no-renames")
    revisions = ("--end-of-options", f"{base}...HEAD", "--")
    listed = request.project.git("diff", *options, *revisions, check=False)  # there may be no base
    changed = {name.decode("utf-8", "replace") for name in listed.split(b"\0")}
    paths = [path for path in request.paths if path in changed]
    if not paths:
        return Selection(paths=request.paths, reason=f"no file differs from {base}")
    others = {path: () for path in request.paths if path not in changed}
    return Selection(paths=paths, map=others, reason=f"they differ from {base}")
