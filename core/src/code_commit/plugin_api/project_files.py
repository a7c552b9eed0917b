"""Types for the project folder, the files that no response may change, and names in the folder of a run."""

from __future__ import annotations

from code_commit_workspace import Change, PathRule, ProcessResult, Protected, Refusal, Tree, decode_text, read_text

# Of the workspace.
__all__ = ["Change", "PathRule", "ProcessResult", "Protected", "Refusal", "Tree", "decode_text", "read_text"]

LOGS = "logs"
_LONGEST_NAME = 200  # bytes

# In the order of the prompt of the commit workflow. Files that git ignores are protected too.
PROTECTED = (
    Protected(".gitignore", anywhere=True),
    Protected("Cargo.lock"),
    Protected("build.sh"),
    Protected("codeRollup.sh"),
    Protected("LLMInstructions.md"),
    Protected("UserSpecification.md", "any file named UserSpecification.md", anywhere=True),
    Protected(".git", "anything in the .git folder", anywhere=True, readable=False),
    Protected("agent-config", "anything in the agent-config folder", readable=False),
    Protected("logs", "anything in the logs folder", readable=False),
    Protected("target", "anything in the target folder"),
)
_IGNORED = "anything specified in the .gitignore file"


def protected_list() -> str:
    """Return the protected files as a list for prompts: a line with `+` each, no final newline."""
    return "\n".join(f"+ {line}" for line in (*map(str, PROTECTED), _IGNORED))


def plain_name(name: str) -> str:
    """Return `name` if it is valid for a file in the run folder.

    Raises:
        ValueError: it is empty, too long or hidden, or contains a slash or an unprintable character.
    """
    if not name or name.startswith(".") or "/" in name or not name.isprintable() or len(name.encode()) > _LONGEST_NAME:
        raise ValueError(f"invalid name for a file in the run folder: {name!r}")
    return name
