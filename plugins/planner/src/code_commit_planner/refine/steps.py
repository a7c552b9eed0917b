"""The steps that refine requirements."""

from __future__ import annotations

import os

from code_commit.plugin_api import Change, MessageLogged, NotReady
from code_commit_planner.dialog import messages
from code_commit_planner.dialog.answers import ask_for_words
from code_commit_planner.dialog.text import listed
from code_commit_planner.machine import Event
from code_commit_planner.plan import Plan
from code_commit_planner.plan_folder.folder import NEW, TODO
from code_commit_planner.plan_folder.history import now, refining
from code_commit_planner.plan_folder.requirements import has_heading, with_tag
from code_commit_planner.refine.original import kept_original, put_back_original
from code_commit_planner.refine.planner import review

_AT_PROMPT = {
    Event.YES: Event.GO,
    Event.GO: Event.GO,
    Event.NO: Event.NO,
    Event.QUIT: Event.QUIT,
}
_CHANGED_LINES = 60  # at most, on the screen
_AT_APPROVAL = {
    Event.YES: Event.YES,
    Event.NO: Event.NO,
    Event.QUIT: Event.QUIT,
}


def prompt_for_requirements(plan: Plan) -> Event:
    """Wait until the person has written requirements.

    Text typed before Enter goes to the planner.
    """
    _remove_todo(plan)
    if plan.folder.read(NEW) is not None:
        put_back_original(plan)  # after a kill
    question = plan.fill(messages.REFINE)
    answer = ask_for_words(plan.run, question, ("", "quit"), _AT_PROMPT, empty=Event.GO)
    if isinstance(answer, str):
        plan.typed = answer
    elif answer is Event.GO:
        plan.typed = ""
    else:
        return answer
    if _requirements(plan) is None:
        return Event.FILE_MISSING
    return Event.GO


def refine(plan: Plan) -> Event:
    """Let the planner review the requirements, and check whether it answered in the file."""
    text = _requirements(plan)
    if text is None:
        return Event.FILE_MISSING
    tagged = with_tag(text)
    changes = [] if tagged == text else [Change(NEW, tagged.encode())]
    plan.folder.record(refining(now()), changes=changes)
    plan.say(messages.REVIEWING)
    with kept_original(plan, tagged):
        result = plan.retried(lambda: review(plan.run, plan.toolbox, plan.typed, plan.head))
    if result.tampered:
        paths = ", ".join(result.tampered)
        message = plan.fill(messages.TAMPERED, agent="planner", paths=paths)
        plan.run.emit(MessageLogged(message, level="error"))
    elif has_heading(after := plan.folder.text(NEW) or ""):
        plan.unchanged = after == tagged
        _show_changes(plan, tagged, after)
        return Event.UPDATED
    plan.run.emit(MessageLogged(plan.fill(messages.NO_ANSWER), level="error"))
    return Event.SILENT


def _show_changes(plan: Plan, before: str, after: str) -> None:
    """Show how the planner changed the requirements."""
    from difflib import unified_diff

    diff = list(unified_diff(before.splitlines(), after.splitlines(), n=1, lineterm=""))
    lines = [line for line in diff[2:] if not line.startswith("@@")]  # without the names of files
    if lines:
        shown = listed(lines, at_most=_CHANGED_LINES)
        plan.say(f"{messages.CHANGED_REQUIREMENTS}\n{shown}")


def ask_for_approval(plan: Plan) -> Event:
    """Ask whether the requirements are acceptable.

    Only a yes counts as approval; other words go to the planner.
    """
    news = messages.UNCHANGED if plan.unchanged else messages.UPDATED
    question = plan.fill(f"{news}\n{messages.ASK_APPROVAL}")
    answer = ask_for_words(plan.run, question, ("yes", "no", "quit"), _AT_APPROVAL)
    if isinstance(answer, Event):
        return answer
    plan.typed = answer
    return Event.GO


def _remove_todo(plan: Plan) -> None:
    """Remove the todo list of an earlier run, and keep a copy of it."""
    todo = plan.folder.read(TODO)
    if todo is None:
        return
    copy = plan.run.keep("todo.g3.md", todo)
    file = os.path.relpath(copy, plan.run.root)
    plan.say(messages.REMOVED_TODO, file=file)
    plan.run.apply([Change(TODO, None)])


def _requirements(plan: Plan) -> str | None:
    """Return the new requirements, or show the person why none can be reviewed and return None."""
    try:
        text = plan.folder.utf8(NEW)
    except NotReady as error:
        reason = error.message.removeprefix(f"{NEW} ")
        plan.say(messages.CANNOT_READ, file=NEW, reason=reason)
        return None
    if text is None:
        plan.say(f"{messages.FILE_NOT_FOUND}\n{messages.CREATE_AND_TRY_AGAIN}")
    elif not text.strip("\ufeff \t\r\n"):
        plan.say(messages.CANNOT_READ, file=NEW, reason="is empty")
        return None
    return text
