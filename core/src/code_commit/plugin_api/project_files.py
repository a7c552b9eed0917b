"""What a plugin sees of the project folder, and the names that no response may change there."""

from __future__ import annotations

from code_commit_workspace import Change, PathRule, ProcessResult, Protected, Refusal, Tree, decode_text, read_text

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

# The union of the lists in seeds 000 to 002, in the order of the prompt. What git ignores is protected as well.
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
    """Return the list as prompts show it, one `+ ` line each, without a final newline."""
    return "\n".join(f"+ {line}" for line in (*map(str, PROTECTED), _IGNORED))
