"""Which paths no response may touch: one list, enforced by the guard and told to the model in the prompt.

The union of the lists in seeds 000 to 002 (DESIGN section 2). What git ignores is protected besides, by git's own
verdict.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Scope(Enum):
    """Where a protected name counts."""

    FILE_AT_ROOT = "{name}"
    FILE_ANYWHERE = "any file named {name}"
    FOLDER_AT_ROOT = "anything in the {name} folder"
    GIT_FILE = "{name} "  # told like a file at the root, enforced at any depth, for git reads it there too
    GIT_FOLDER = "anything in the {name} folder "  # as above


@dataclass(frozen=True, slots=True)
class Protected:
    """A protected name and where it counts."""

    name: str
    scope: Scope

    def __str__(self) -> str:
        """The line that the model reads, in the seeds' words."""
        return self.scope.value.format(name=self.name).rstrip()

    @property
    def anywhere(self) -> bool:
        """Whether the name is protected at any depth."""
        return self.scope in {Scope.FILE_ANYWHERE, Scope.GIT_FILE, Scope.GIT_FOLDER}


PROTECTED = (
    Protected(".gitignore", Scope.GIT_FILE),
    Protected("Cargo.lock", Scope.FILE_AT_ROOT),
    Protected("build.sh", Scope.FILE_AT_ROOT),
    Protected("codeRollup.sh", Scope.FILE_AT_ROOT),
    Protected("LLMInstructions.md", Scope.FILE_AT_ROOT),
    Protected("UserSpecification.md", Scope.FILE_ANYWHERE),
    Protected(".git", Scope.GIT_FOLDER),
    Protected("agent-config", Scope.FOLDER_AT_ROOT),
    Protected("logs", Scope.FOLDER_AT_ROOT),
    Protected("target", Scope.FOLDER_AT_ROOT),
)
IGNORED = "anything specified in the .gitignore file"


def protected_list() -> str:
    """Return the list as prompts show it, one `+ ` line each, without a final newline."""
    return "\n".join(f"+ {line}" for line in (*map(str, PROTECTED), IGNORED))
