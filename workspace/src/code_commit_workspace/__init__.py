"""A project folder that a program may change: read, check, apply all or nothing, undo, run.

from code_commit_workspace import Change, Workspace

with Workspace.open(root, writes=True) as workspace:
    workspace.apply([Change("greeting.txt", b"hello\\n")])
"""

from __future__ import annotations

import importlib

__version__ = "0.1.0"

# By module, imported when asked for: most programs need few. `__init__.pyi` has them for type
# checkers.
_PUBLIC = {
    "checkpoint": ("Checkpoints", "Writers"),
    "errors": (
        "ChangeSetRefused",
        "CodeCommitError",
        "Interrupted",
        "NotReady",
        "closest",
        "describe",
        "did_you_mean",
        "no_room",
        "traceback_of",
    ),
    "git": ("Git", "GitError", "NoRepository"),
    "git.committing": (
        "GitCommand",
        "StatusEntry",
        "find_in_repository",
        "git_status",
        "overlooked_by_git",
        "require_settled",
        "skipped_by_commit",
        "unknown_author",
    ),
    "git.reading": ("may_write_files",),
    "interruption": ("STOP", "Stop"),
    "process.own_python": (
        "ask_process",
        "isolated_python",
        "python_command",
        "python_environment",
    ),
    "process.parent_death": ("signalled_at_our_end",),
    "git.private_folder": ("check_private_folder", "require_gitignore_line"),
    "process.launch": ("Process",),
    "process.running": ("RunningProcess",),
    "process.terminal_text": ("as_on_terminal",),
    "files.project_text": ("decode_text", "read_text"),
    "files.project_tree": ("ProjectTree", "normalise_path", "open_regular"),
    "process.proxy_variables": ("proxy_passwords",),
    "records": (
        "Change",
        "CheckpointLimits",
        "PathRule",
        "ProcessResult",
        "Protected",
        "Refusal",
        "SandboxSettings",
        "Tree",
    ),
    "keys.redaction": ("RedactingStream", "Redactor", "hide_parts", "likely_keys", "parse_key"),
    "files.small_file": (
        "is_locked",
        "parse_toml",
        "read_anywhere",
        "read_in_project",
        "require_no_link_out",
    ),
    "sync_result": ("require_sync",),
    "files.tree_removal": ("remove_tree",),
    "files.way_of_path": ("replaceable_places",),
    "files.whole_file": ("create_file", "replace_file"),
    "workspace": ("Workspace",),
}
_MODULES = {name: module for module, names in _PUBLIC.items() for name in names}
__all__ = ["__version__", *sorted(_MODULES)]  # noqa: PLE0604 - names all the same


def __getattr__(name: str) -> object:
    """Import the module that defines `name`."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
