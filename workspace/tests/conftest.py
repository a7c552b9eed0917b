"""What several tests of the workspace start from."""

from __future__ import annotations

import pytest

from code_commit_workspace.records import Protected


@pytest.fixture(scope="session")
def protected() -> tuple[Protected, ...]:
    """The names that a host protects, as code-commit does."""
    return (
        *map(Protected, ("Cargo.lock", "build.sh", "codeRollup.sh", "LLMInstructions.md", "target")),
        Protected("UserSpecification.md", anywhere=True),
        Protected("agent-config", "anything in the agent-config folder", readable=False),
        Protected("logs", readable=False),
    )
