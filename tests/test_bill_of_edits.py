"""A repair with the format `edits` costs a small part of one with whole files."""

from __future__ import annotations

import pytest

from code_commit_testing import Project, ScriptedServer
from code_commit_testing.billing import Billing

KEY = "sk-test-0123456789abcdef"
TOKEN = 4  # characters
CODE = "".join(f"value_{number} = {number}\n" for number in range(5000))
EDITS = '[plugins.commit]\nresponse_format = "auto"\nprompt_order = "cached"\n'
# The build passes if the file contains "good"; its output has about 60 lines.
BUILD = "grep -q good {path} || {{ seq 60 | sed 's/^/an error in line /'; exit 1; }}\n"


def whole(path: str, text: str) -> str:
    return f"^^^{path}\n{text}^^^end\n"


def edit(path: str, old: str, new: str) -> str:
    return f"^^^{path}\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n^^^end\n"


REPLIES = {
    "code.py": (
        [whole("code.py", CODE.replace("2500\n", f"{word}\n")) for word in ("bad", "good")],
        [
            edit("code.py", "value_2500 = 2500", "value_2500 = bad"),
            edit("code.py", "value_2500 = bad", "value_2500 = good"),
        ],
    ),
    "a.txt": (
        [whole("a.txt", f"{word}\n") for word in ("bad", "good")],
        [edit("a.txt", "old", "bad"), edit("a.txt", "bad", "good")],
    ),
}


@pytest.mark.parametrize("path", REPLIES)
def test_a_repair_with_edits_costs_an_eighth_at_most(tmp_path, path):
    rollup = f"--- a.txt ---\nold\n--- code.py ---\n{CODE}"
    files = {"a.txt": "old\n", "code.py": CODE}

    def bill(folder: str, replies: list[str], config: str) -> tuple[float, str]:
        """Return what the repair costs in tokens: those not read from a cache, and the reply's."""
        build = BUILD.format(path=path)
        project = Project.create(tmp_path / folder, files=files, build=build, rollup=rollup)
        project.write({"agent-config/config.toml": config})
        billing = Billing(minimum=1024, step=128)
        with ScriptedServer(billing.answering(*replies)) as server:
            environ = {
                "OPENAI_API_KEY": KEY,
                "CODE_COMMIT_SANDBOX": "off",
                **server.environment(),
            }
            finished = project.command("--model", "gpt-5", environ=environ)
        assert finished.exit_code == 0, finished.stderr
        assert "good" in project.read(path)
        repair = billing.bills[1]
        return repair.input - repair.read + len(replies[1]) / TOKEN, finished.stderr

    by_files, by_edits = REPLIES[path]
    today, _ = bill("files", by_files, "")
    edits, output = bill("edits", by_edits, EDITS)
    assert "response format edits: code.py has more than 400 lines" in output
    assert edits <= today / 8
