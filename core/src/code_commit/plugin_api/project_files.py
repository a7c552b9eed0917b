"""What a plugin sees of the project folder: defined in `code_commit_workspace`, named here for plugins."""

from __future__ import annotations

from code_commit_workspace.project_text import decode_text, read_text
from code_commit_workspace.protected import PROTECTED, Protected, protected_list
from code_commit_workspace.records import Change, PathRule, ProcessResult, Refusal, Tree

__all__ = [
    "PROTECTED",
    "Change",
    "PathRule",
    "ProcessResult",
    "Protected",
    "Refusal",
    "Tree",
    "decode_text",
    "protected_list",
    "read_text",
]
