"""A project folder that a program may change: read, check, apply all or nothing, undo, run.

from code_commit_workspace import Change, Workspace

with Workspace.open(root, writes=True, private_folder=".my-tool") as workspace:
    run = workspace.begin("my-tool")
    workspace.apply([Change("greeting.txt", b"hello\\n")], run=run)
"""

from __future__ import annotations

import importlib

# By module, imported when asked for: most programs need few. `__init__.pyi` has them for type
# checkers.
_PUBLIC = {
    "move.moving": ("Moved",),
    "store.run_changes": ("RunChanges",),
    "store.store": ("Store",),
    "store.undo": ("Undone",),
    "errors": (
        "ChangeSetRefused",
        "CodeCommitError",
        "Conflict",
        "Interrupted",
        "NotReady",
    ),
    "git": ("Git", "GitError", "NoRepository"),
    "git.committing": ("NextCommit", "StatusEntry"),
    "guard.private_folder": ("check_private_folder", "require_gitignore_line"),
    "process.launch": ("Process",),
    "process.running": ("RunningProcess",),
    "process.terminal_text": ("as_on_terminal",),
    "files.programs": ("find_program",),
    "files.project_text": ("decode_text",),
    "files.project_tree": ("ProjectTree", "normalise_path", "open_regular"),
    "records": (
        "Change",
        "PathRule",
        "ProcessResult",
        "Protected",
        "Refusal",
        "SandboxSettings",
        "StoreLimits",
        "Tree",
    ),
    "keys.redaction": ("Redactor",),
    "files.small_file": ("read_in_project", "require_no_link_out"),
    "files.tree_removal": ("remove_tree",),
    "files.way_of_path": ("replaceable_places",),
    "files.whole_file": ("create_file", "replace_file"),
    "scope": ("Scope",),
    "stop": ("STOP", "Stop"),
    "workspace": ("Workspace",),
}
# Old names, with the new one and the first version without the old one, which is the next minor.
_RENAMED: dict[str, tuple[str, str]] = {}
_MODULES = {name: module for module, names in _PUBLIC.items() for name in names}
__all__ = ["__version__", *sorted(_MODULES)]  # noqa: PLE0604 - names all the same


def __getattr__(name: str) -> object:
    """Import the module that defines `name`."""
    if name == "__version__":
        from importlib.metadata import version

        return version("code-commit-workspace")
    if name in _RENAMED:
        from code_commit_workspace.renamed import current_name

        name = current_name(__name__, name, _RENAMED)
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
