"""Keep the person's section of the requirements, whatever the planner does to the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from code_commit.plugin_api import STOP, Change
from code_commit_planner.dialog import messages
from code_commit_planner.plan import Plan
from code_commit_planner.plan_folder.folder import NEW
from code_commit_planner.plan_folder.requirements import original_of, with_original
from code_commit_planner.saved_state import load_json, save_json

_FILE = "original-requirements.json"


@contextmanager
def kept_original(plan: Plan, text: str) -> Iterator[None]:
    """Put back the section of original requirements in `text` if the block removes some of it.

    After a kill in the block, the next start does that.
    """
    save_json(_file(plan), {"original": original_of(text)})
    try:
        yield
    finally:
        with STOP.hold():
            put_back_original(plan)


def put_back_original(plan: Plan) -> None:
    """Put back what the planner removed from the section, in this run or in one that was killed."""
    original = load_json(_file(plan), lambda fields: str(fields["original"]))
    if original is None:
        return
    before = (plan.folder.read(NEW) or b"").decode("utf-8", "surrogateescape")
    after = with_original(before, original)
    if after != before:
        copy = plan.run.keep("new_requirements.md", before.encode("utf-8", "surrogateescape"))
        plan.run.apply([Change(NEW, after.encode("utf-8", "surrogateescape"))])
        plan.say(messages.ORIGINAL_PUT_BACK, file=str(copy.relative_to(plan.run.root)))
    _file(plan).unlink()


def _file(plan: Plan) -> Path:
    return Path(plan.run.state, _FILE)
