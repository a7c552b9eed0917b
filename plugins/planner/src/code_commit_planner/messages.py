"""All messages and questions for the person. Texts from seed 003 are word for word."""

from __future__ import annotations

# --- of the seed ----------------------------------------------------------------------------------------------------

REFINE = """\
I will help you refine the current requirements of your project.
Please write or edit your requirements in `<codepath>/g3-plan/new_requirements.md`.
Hit enter for me to start a review of that file."""

RECOVERY = """\
The last run didn't complete successfully. Found:
<found>
Would you like to resume the previous implementation?
[Y] Yes - Attempt to resume
[N] No - Mark as complete and proceed to review new_requirements.md
[Q] Quit - Exit and investigate manually"""

FOUND_REQUIREMENTS = "- current_requirements.md from <when>"
FOUND_TODO = "- todo.g3.md <contents>"

FILE_NOT_FOUND = "File not found: <codepath>/g3-plan/new_requirements.md"

# --- ours -----------------------------------------------------------------------------------------------------------

ASK_CODEPATH = "Which codebase do you want to work in? Type the path of its folder, or 'quit'."
NO_SUCH_FOLDER = "There is no folder <path>."
CODEPATH = "Codepath: <codepath>"
PLANNER_MODEL = "Planner: <model> (<reason>)"
PLANNER_FALLBACK = "No `planner` is specified in [providers]:\nfalling back to <model>, by <reason>."

BRANCH = "Current git branch: <branch>"
DETACHED = "no branch: HEAD is detached at <commit>"
ASK_BRANCH = "Is this the correct branch to start work on? [yes/no/quit]"
DIRTY = "There are untracked, uncommitted or dirty files on <branch>:"
ASK_DIRTY = "Proceed all the same? [yes/no/quit]"
UNKNOWN_AUTHOR = "git does not know whose commits these are, so the commit at the end would fail: <reason>"

NOTHING_TO_RESUME = "There is no current_requirements.md: a todo list alone cannot be resumed."
CREATE_AND_TRY_AGAIN = "Please create the file and try again."
CANNOT_READ = "<file> cannot be reviewed: it <reason>\nPlease put that right and try again."
REVIEWING = "Reviewing g3-plan/new_requirements.md ..."
NO_ANSWER = (
    "The LLM didn't respond: there are no new `{{CURRENT REQUIREMENTS}}` in <codepath>/g3-plan/new_requirements.md. "
    "Please restart the app to try again."
)
UPDATED = """\
The LLM has updated `<codepath>/g3-plan/new_requirements.md`.
Please go and read that file. If it is acceptable, say 'yes', and it will be
implemented. Otherwise say 'no' to refine it further, or 'quit'."""

IMPLEMENTING = "Implementing g3-plan/current_requirements.md, in at most <turns> turns."
TURN = "Turn <number> of <turns>: the player is at work."
COACH = "Turn <number> of <turns>: the coach judges."
FEEDBACK = "The coach is not satisfied yet:"
IS_APPROVED = "The coach has approved the implementation."

NOT_COMPLETE = """\
<outcome>
<todos>
Do you consider the todos and the requirements completed? [yes/no/quit] (no)"""
TODOS_OPEN = "<open> of <all> todos are not done:"
TODOS_NONE = "There is no todo in g3-plan/todo.g3.md that could tell whether the work is done."
TODOS_DONE = "All <all> todos are done."
SKIPPED = "The recovery was skipped."
APPROVED = "The coach approved the implementation."
OUT_OF_TURNS = "The coach and the player ran out of turns (<turns>): the coach is not satisfied."
LOOP_FAILED = "The coach and the player were stopped by an error: <error>"

COMPLETED = "Completed:"
UNRECORDED = "<file> is completed and not yet committed: going on with its commit."
NOT_STAGED = "Not staged, as they look like temporary artifacts:"
NOT_OURS = "Left out of this commit, as they were staged before by someone else:"
NOT_STAGED_EITHER = (
    "Not staged, as git could not tell what to make of them\n(unmerged, or repositories inside this one):"
)
READY = "code-commit is ready to make a git commit."
STAGED = "Staged:"
ASK_REVIEW = """\
Please review the currently staged files.
Hit enter to continue when you are done, or type 'quit'."""
COMMITTED = "Committed <commit>: <summary>"
COMMIT_FAILED = """\
The commit was not made: <reason>
What belongs to it is staged, and its message is in <file>."""
COMMIT_CUT_OFF = "The last run recorded a commit that was not made: <summary>"
ASK_COMMIT_AGAIN = "Shall it be made now? [yes/no/quit]"

NOT_UNDERSTOOD = "That was not understood. Please answer <choices>."
BYE = "quit at: <state>"
INPUT_ENDED = "the input ended at: <state>"

CHAT = "What shall be done? Type it in one line, or 'quit'."
CHAT_GO_ON = "Say what is to be changed or done next, or 'quit'."
CHAT_RESUME = "The last chat, of <when>, was cut off. Go on with it? [yes/no/quit]"
LOOP_RESUMED = """\
An earlier run on these requirements was cut off after turn <turn>:
going on with the coach's feedback."""
