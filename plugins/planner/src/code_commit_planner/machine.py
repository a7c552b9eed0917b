"""The state machine of planning, as a table of transitions. Nothing here reads, writes or asks.

+------------- RECOVERY (Resume) ---------------------+
|              +---------- RECOVERY (Mark Complete) --|-------------------+
^              ^                                      v                   v
STARTUP -> PROMPT FOR NEW REQUIREMENTS -> REFINE -> IMPLEMENT -> IMPLEMENTATION COMPLETE
               ^                                                          v
               +----------------------------------------------------------+
"""

from __future__ import annotations

from enum import Enum


class State(Enum):
    """A state of a planning run. The values appear in `state.entered`."""

    STARTUP = "startup"
    BRANCH_CHECK = "branch check"
    DIRTY_CHECK = "dirty check"
    LEFTOVERS = "leftovers"  # files of an earlier run in the plan folder
    RECOVERY = "recovery"
    RECOVERY_ATTEMPTED = "recovery attempted"
    RECOVERY_SKIPPED = "recovery skipped"
    NEW_REQUIREMENTS = "prompt for new requirements"
    REFINE = "refine requirements"
    APPROVAL = "approval"
    IMPLEMENT = "implement requirements"
    COACH_AND_PLAYER = "coach and player"
    COMPLETE = "implementation complete"
    RENAME = "rename"
    STAGE = "stage"
    REVIEW = "review"
    COMMIT = "commit"
    COMMIT_FAILED = "commit failed"
    QUIT = "quit"
    INPUT_ENDED = "end of input"
    NO_ANSWER = "no answer of the model"


class Event(Enum):
    """What happens in a state."""

    WITH_GIT = "git is used"
    WITHOUT_GIT = "--no-git"
    YES = "yes"
    NO = "no"
    CLEAN = "nothing is uncommitted"
    NOTHING_LEFT = "nothing is left over"
    UNFINISHED = "current requirements or todos are left over"
    UNRECORDED = "completed requirements are not recorded"
    UNCOMMITTED = "a commit was recorded and not made"
    NO_REQUIREMENTS = "there are no current requirements"
    FILE_MISSING = "there are no new requirements"
    GO = "the person continues"
    UPDATED = "there are current requirements"
    SILENT = "the model wrote none"
    DONE = "done"
    RECORDED = "completed without git"
    FAILED = "git failed"
    EDIT = "the person edited the message"
    INCLUDE = "the person included files of others"
    BACK = "the person asked for changes"
    LEFT = "the files stay staged"
    QUIT = "the person quit"
    INPUT_ENDED = "the input ended"


FINAL = frozenset({State.QUIT, State.INPUT_ENDED, State.NO_ANSWER})

TABLE: dict[tuple[State, Event], State] = {
    # Startup, git functionality
    (State.STARTUP, Event.WITH_GIT): State.BRANCH_CHECK,
    (State.STARTUP, Event.WITHOUT_GIT): State.LEFTOVERS,
    (State.BRANCH_CHECK, Event.YES): State.DIRTY_CHECK,
    (State.BRANCH_CHECK, Event.NO): State.QUIT,
    (State.DIRTY_CHECK, Event.CLEAN): State.LEFTOVERS,
    (State.DIRTY_CHECK, Event.YES): State.LEFTOVERS,
    (State.DIRTY_CHECK, Event.NO): State.QUIT,
    (State.LEFTOVERS, Event.NOTHING_LEFT): State.NEW_REQUIREMENTS,
    (State.LEFTOVERS, Event.UNFINISHED): State.RECOVERY,
    (State.LEFTOVERS, Event.UNRECORDED): State.STAGE,
    (State.LEFTOVERS, Event.RECORDED): State.NEW_REQUIREMENTS,
    (State.LEFTOVERS, Event.UNCOMMITTED): State.COMMIT_FAILED,
    # Recovery
    (State.RECOVERY, Event.YES): State.RECOVERY_ATTEMPTED,
    (State.RECOVERY, Event.NO): State.RECOVERY_SKIPPED,
    (State.RECOVERY, Event.NO_REQUIREMENTS): State.RECOVERY,
    (State.RECOVERY_ATTEMPTED, Event.DONE): State.IMPLEMENT,
    (State.RECOVERY_SKIPPED, Event.DONE): State.COMPLETE,
    (State.RECOVERY_SKIPPED, Event.NO_REQUIREMENTS): State.NEW_REQUIREMENTS,
    # Refine requirements
    (State.NEW_REQUIREMENTS, Event.FILE_MISSING): State.NEW_REQUIREMENTS,
    (State.NEW_REQUIREMENTS, Event.NO): State.NEW_REQUIREMENTS,
    (State.NEW_REQUIREMENTS, Event.GO): State.REFINE,
    (State.REFINE, Event.FILE_MISSING): State.NEW_REQUIREMENTS,
    (State.REFINE, Event.UPDATED): State.APPROVAL,
    (State.REFINE, Event.SILENT): State.NO_ANSWER,
    (State.APPROVAL, Event.YES): State.IMPLEMENT,
    (State.APPROVAL, Event.NO): State.NEW_REQUIREMENTS,
    (State.APPROVAL, Event.GO): State.REFINE,
    # Implement current requirements
    (State.IMPLEMENT, Event.DONE): State.COACH_AND_PLAYER,
    (State.COACH_AND_PLAYER, Event.DONE): State.COMPLETE,
    # Implementation is complete
    (State.COMPLETE, Event.NO): State.COACH_AND_PLAYER,
    (State.COMPLETE, Event.YES): State.RENAME,
    (State.RENAME, Event.DONE): State.STAGE,
    (State.RENAME, Event.RECORDED): State.NEW_REQUIREMENTS,
    (State.STAGE, Event.DONE): State.REVIEW,
    (State.REVIEW, Event.GO): State.COMMIT,
    (State.REVIEW, Event.EDIT): State.REVIEW,
    (State.REVIEW, Event.INCLUDE): State.REVIEW,
    (State.REVIEW, Event.BACK): State.COACH_AND_PLAYER,
    (State.REVIEW, Event.LEFT): State.NEW_REQUIREMENTS,
    (State.REVIEW, Event.NO): State.COMMIT_FAILED,
    (State.COMMIT, Event.DONE): State.NEW_REQUIREMENTS,
    (State.COMMIT, Event.FAILED): State.COMMIT_FAILED,
    (State.COMMIT_FAILED, Event.YES): State.COMMIT,
    (State.COMMIT_FAILED, Event.EDIT): State.REVIEW,
    (State.COMMIT_FAILED, Event.BACK): State.COACH_AND_PLAYER,
    (State.COMMIT_FAILED, Event.LEFT): State.NEW_REQUIREMENTS,
}

ASKING = frozenset(
    {
        State.BRANCH_CHECK,
        State.DIRTY_CHECK,
        State.RECOVERY,
        State.NEW_REQUIREMENTS,
        State.APPROVAL,
        State.COMPLETE,
        State.REVIEW,
        State.COMMIT_FAILED,
    }
)
"""States that ask the person, who may quit without changing anything."""


def next_state(state: State, event: Event) -> State:
    """Return the state that follows `state` on `event`.

    Raises:
        KeyError: `event` cannot happen in `state`.
    """
    if state in ASKING and event is Event.QUIT:
        return State.QUIT
    if state in ASKING and event is Event.INPUT_ENDED:
        return State.INPUT_ENDED
    return TABLE[state, event]
