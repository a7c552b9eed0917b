"""The review of the staged files: what the person can do before the commit."""

from __future__ import annotations

from collections.abc import Mapping

from code_commit_planner.agents.progress import add_words
from code_commit_planner.complete.pending import completion_of, message_of, save_message
from code_commit_planner.dialog import messages
from code_commit_planner.dialog.answers import is_words, join_choices, only_agrees
from code_commit_planner.dialog.notices import show
from code_commit_planner.dialog.text import legible, listed, shown_paths
from code_commit_planner.git.commit_message import WIDTH, CommitMessage, edited_message
from code_commit_planner.machine import Event
from code_commit_planner.plan import Plan
from code_commit_planner.plan_folder.folder import FOLDER
from code_commit_planner.plan_folder.history import completed, now, requested_changes
from code_commit_planner.plan_folder.requirements import to_implement
from code_commit_toolbox.shortening import head_and_tail

# Whole words: a single letter may be a wrong key.
_ANSWERS = {
    "commit": Event.GO,
    "continue": Event.GO,
    "yes": Event.GO,
    "edit": Event.EDIT,
    "back": Event.BACK,
    "leave": Event.LEFT,
    "no": Event.NO,
    "quit": Event.QUIT,
    "exit": Event.QUIT,
    "q": Event.QUIT,
}
_DIFF = "diff"
_ANSWERS_AGAIN = {**_ANSWERS, "commit": Event.YES, "continue": Event.YES, "yes": Event.YES}
_CHOICES = ("commit", "diff", "edit", "back", "leave", "quit")
_CHOICES_AGAIN = ("yes", "no", "diff", "edit", "back", "quit")


def review_staged(plan: Plan) -> Event:
    """Show the commit that is about to be made, and ask what to do.

    Quitting here changes nothing.
    """
    message = message_of(plan)
    plan.say(messages.READY)
    plan.say(messages.BRANCH, branch=plan.branch())
    show(plan.run, _indented(message))
    if len(message.summary) > WIDTH:
        plan.say(messages.LONG_SUMMARY, length=str(len(message.summary)))
    staged = _staged(plan)
    plan.say(f"{messages.STAGED}\n{listed(staged, at_most=None)}")
    if any(line.endswith(f"({messages.OF_PERSON})") for line in staged):
        plan.say(messages.HOW_TO_UNSTAGE)
    if skipped := plan.git.skipped():
        plan.say(messages.SKIPS, skipped=", ".join(skipped))
    touched = plan.git.touched()
    if not touched:
        return _choose(plan, messages.ASK_REVIEW, _CHOICES, _ANSWERS)
    plan.say(f"{messages.TOUCHED}\n{shown_paths(touched)}")
    question = messages.ASK_REVIEW.replace("\n  quit", f"\n{messages.INCLUDE}\n  quit")
    choices = (*_CHOICES[:-1], "include", "quit")
    return _choose(plan, question, choices, {**_ANSWERS, "include": Event.INCLUDE})


def _staged(plan: Plan) -> list[str]:
    """Return a line for each staged file, with its writer if that is not the player."""
    changes = plan.work.changes()
    agents = {f"{plan.git.prefix}{path}": mark for path, mark in changes.writers().items()}
    lines = []
    for path in plan.git.staged_for_commit():
        mark = agents.get(path, messages.OF_PERSON)
        if path.startswith(f"{plan.git.prefix}{FOLDER}/") or plan.git.was_left(path):
            mark = ""
        elif mark == "" and plan.git.was_dirty(path):
            mark = messages.SHARED
        lines.append(f"{legible(path)}  ({mark})" if mark else legible(path))
    return lines


def offer_commit_again(plan: Plan) -> Event:
    """Ask whether to make a commit that was not made."""
    event = _choose(plan, messages.ASK_COMMIT_AGAIN, _CHOICES_AGAIN, _ANSWERS_AGAIN)
    if event is Event.NO:
        return _leave(plan)
    return event


def _choose(
    plan: Plan,
    question: str,
    choices: tuple[str, ...],
    answers: Mapping[str, Event],
) -> Event:
    """Ask until the person gives one of `answers`, and carry it out."""
    while True:
        answer = plan.run.ask(plan.fill(question), choices=choices, draft="")
        if answer is None:
            return Event.INPUT_ENDED
        word, _, words = answer.strip().partition(" ")
        word = word.strip(".!:[]'\"").casefold()
        event = answers.get(word)
        if word == _DIFF and not words:
            _show_diff(plan)
        elif event is Event.BACK:
            event = _send_back(plan, words.strip())
        elif event is None and word != _DIFF and _asks_for_changes(answer):
            event = _send_back(plan, answer.strip())
        elif event is None or words:
            plan.say(messages.NOT_UNDERSTOOD, choices=join_choices(choices))
            event = None
        elif event is Event.LEFT:
            event = _leave(plan)
        elif event is Event.INCLUDE:
            plan.git.include(plan.git.touched())
        elif event is Event.EDIT:
            _edit(plan)
        if event is not None:
            return event


def _asks_for_changes(answer: str) -> bool:
    return is_words(answer, least=2) and not only_agrees(answer)


def _show_diff(plan: Plan) -> None:
    text = plan.git.staged_diff().decode("utf-8", "replace")
    limit = plan.run.settings.diff_limit
    if len(text) > limit:
        file = plan.run.keep("staged.diff", text)
        text = head_and_tail(text, limit, whole=f"all of it is in {file}")
    show(plan.run, text or messages.NOTHING_STAGED)


def _edit(plan: Plan) -> None:
    answer = plan.run.ask(messages.EDIT_MESSAGE, draft=str(message_of(plan)))
    if answer is None or not is_words(answer):
        return
    plan.message = edited_message(answer, completion_of(plan))
    if plan.completion is not None:
        save_message(plan.run.state, plan.completion.requirements, plan.message)


def _send_back(plan: Plan, words: str) -> Event | None:
    """Reopen the requirements with the changes that the person asks for; None if there are none."""
    if not words:
        answer = plan.run.ask(messages.ASK_CHANGES, draft="") or ""
        words = answer.strip()
    if not is_words(words):
        return None
    completion = completion_of(plan)
    requirements = plan.folder.reopen(completion, requested_changes(now()))
    add_words(plan.run.state, to_implement(requirements), words)
    _forget(plan)
    return Event.BACK


def _leave(plan: Plan) -> Event:
    """Record the completion, and leave its files staged for the next commit."""
    completion = completion_of(plan)
    if not plan.folder.is_recorded(completion):
        plan.folder.record(completed(completion))
    plan.git.stage_plan()
    _forget(plan)
    plan.end_work()
    plan.say(messages.LEFT)
    return Event.LEFT


def _forget(plan: Plan) -> None:
    """Forget the commit, but not the work."""
    plan.git.forget_commit()
    plan.completion = None
    plan.message = None
    plan.loop = None


def _indented(message: CommitMessage) -> str:
    lines = str(message).rstrip("\n").split("\n")
    return "\n".join(f"  {line}".rstrip() for line in lines)
