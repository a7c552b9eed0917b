"""All messages and questions for the person. Texts from seed 003 are word for word."""

from __future__ import annotations

# Texts of seed 003

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

# Other texts

ASK_CODEPATH = "Which codebase do you want to work in? Type the path of its folder, or 'quit'."
NO_PATH = "The codepath is empty."
NO_SUCH_FOLDER = "There is no folder <path>."
CODEPATH = "Codepath: <codepath>"
ROLE_MODEL = "<role>: <model> (<reason>)<price>"
PLANNER_FALLBACK = (
    "No `planner` is specified in [providers]:\nfalling back to <model>, by <reason>."
)

BRANCH = "Current git branch: <branch>"
DETACHED = "no branch: HEAD is detached at <commit>"
ASK_BRANCH = "Is this the correct branch to start work on? [yes/no/quit]"
DIRTY = "There are untracked, uncommitted or dirty files on <branch>:"
ASK_DIRTY = "Proceed anyway? [yes/no/quit]"
UNKNOWN_AUTHOR = "git has no author name or address, so the commit at the end will fail: <reason>"

NOTHING_TO_RESUME = "There is no current_requirements.md: you cannot resume only a todo list."
REMOVED_TODO = "Removed g3-plan/todo.g3.md of an earlier run; a copy is in <file>."
CREATE_AND_TRY_AGAIN = "Please create the file and try again."
CANNOT_READ = "<file> cannot be reviewed: it <reason>\nPlease fix this and try again."
REVIEWING = "Reviewing g3-plan/new_requirements.md ..."
NO_ANSWER = (
    "The LLM didn't respond: there is no heading `{{CURRENT REQUIREMENTS}}`"
    " in <codepath>/g3-plan/new_requirements.md."
)
RESTART = "Please restart the app to try again."
UPDATED = """\
The LLM has updated `<codepath>/g3-plan/new_requirements.md`."""
UNCHANGED = """\
The LLM has left `<codepath>/g3-plan/new_requirements.md` as it is."""
ORIGINAL_PUT_BACK = """\
The LLM had removed some of your original requirements: they are back in
g3-plan/new_requirements.md. Its version is in <file>."""
CHANGED_REQUIREMENTS = "What the LLM changed in new_requirements.md:"
ASK_APPROVAL = """\
Please go and read that file. If it is acceptable, say 'yes', and it will be
implemented. Otherwise write what the LLM should change, or say 'no' to refine
it further, or 'quit'."""
HOW_TO_TYPE = "To type several lines, end a line with \\ to continue, or type 'e' for an editor."

IMPLEMENTING = "Implementing g3-plan/current_requirements.md, in at most <turns> turns."
TURN = "Turn <number> of <turns>: the player works.<spent>"
COACH = "Turn <number> of <turns>: the coach reviews.<spent>"
SO_FAR = " So far: <spent>."
AGENT_DONE = "The <agent> is done after <replies>."
AGENT_STOPPED = "The <agent> stopped after <replies>: <reason>."
BUILD_IS_RED = "The coach has approved the implementation, but the build is red:"
CHANGE_IS_REFUSED = "The coach has approved the implementation, but <check> refuses the change:"
ACCEPTED = "The acceptance checks accept the change:"
TAMPERED = "a command of the <agent> changed files that check the project: <paths>"
CHANGED_GIT = "the <agent> changed git's HEAD from <before> to <after>"
SUMMARIZING = "Summarizing the requirements for the history ..."
DESCRIBING = "Writing the commit message ..."
FEEDBACK = "The coach is not satisfied yet:"
IS_APPROVED = "The coach has approved the implementation."

RESTORED = "A command of the <agent> changed files of planning, which are restored: <paths>"
RESTORED_AFTER_KILL = (
    "The last run was killed during a command of the <agent>, which had changed files of planning."
    " Restored: <paths>\n"
    "Copies of the changed files are in the folder of this run."
)
KILLED_PLANNER = (
    "The last run was killed during a command of the planner,"
    " before its changes to your files were undone.\n"
    "Check `git status` and `git diff` before you continue."
)

LAST_FEEDBACK = "The coach's last feedback:"
ASK_COMPLETE = """\
Do you consider the todos and the requirements completed? [yes/no/diff/quit]
Or write what the coach and the player should do. 'no' lets them go on."""
TRY_AGAIN = "An error of the service stopped the work:\n<error>\nTry again? [yes/no/quit]"
TRY_AGAIN_OR_WORDS = """\
An error of the service stopped the coach and the player:
<error>
Try again? [yes/no/diff/quit]
Or write what the coach and the player should do."""
TODOS_OPEN = "<open> of <all> todos are not done:"
TODOS_NONE = "There are no todos in g3-plan/todo.g3.md."
TODOS_DONE = "All <all> todos are done."
SKIPPED = "The recovery was skipped."
APPROVED = "The coach approved the implementation."
OUT_OF_TURNS = "The coach and the player ran out of turns (<turns>): the coach is not satisfied."
LOOP_FAILED = "An error stopped the coach and the player: <error>"

COMPLETED = "Completed:"
UNRECORDED = """\
<file> is completed and not yet committed:
continuing with its commit."""
NOT_STAGED = "Not staged, because they look like temporary artifacts:"
NOT_OURS = "Not part of this commit, because they were staged before the work:"
OVERLOOKED = """\
Changed, but not staged, because git is told to overlook their changes
(`git update-index --no-FLAG FILE` ends that, then `git add FILE` stages it):"""
NOT_STAGED_EITHER = "Also not staged\n(unmerged files, or repositories inside this one):"
READY = "code-commit is ready to make a git commit."
STAGED = "Staged:"
LONG_SUMMARY = "The summary line has <length> characters; more than 72 are cut off in many places."
SKIPS = "This commit skips: <skipped>\n(`commit_hooks = true` in [plugins.planner] uses them)"
TOUCHED = (
    "Staged before the work, and changed by the player since:"
    " not part of this commit, unless you type 'include':"
)
OF_PERSON = "yours, not the player's"
SHARED = "yours and the player's"
OF_COMMAND = "changed while a command ran: the player's, or yours"
HOW_TO_UNSTAGE = "`git restore --staged FILE` leaves a file out of the commit."
ASK_REVIEW = """\
Please review the currently staged files. When you are done, type one of:
  commit   make the commit
  diff     show what it changes
  edit     change the message
  back     send it back to the coach and the player: back <what to change>
  leave    leave the files staged without a commit, and go on
  quit     stop here; the next start continues"""
INCLUDE = "  include  also commit these files, as a whole"
EDIT_MESSAGE = """\
Type the new message: the first line is the summary. End a line with \\ to continue,
or type 'e' to edit the message in your editor. Enter keeps it."""
ASK_CHANGES = "What should the coach and the player change? Enter changes nothing."
LEFT = "No commit was made. The files stay staged, for the next commit of planning."
NOTHING_STAGED = "Nothing is staged."
COMMITTED = "Committed <commit>: <summary>"
COMMIT_FAILED = """\
The commit was not made: <reason>
Its files are staged, and its message is in <file>."""
COMMIT_INTERRUPTED = "The last run recorded a commit that was not made: <summary>"
ASK_COMMIT_AGAIN = "Commit now? [yes/no/diff/edit/back/quit]"

CHANGED_FILES = "Changed by the agents:"
NOTHING_CHANGED = "The agents have changed nothing."
NOT_UNDERSTOOD = "Unknown answer. Please answer <choices>."
SESSION = "This session: <turns> of the player and the coach, <commits><spent>"
BYE = "quit at: <state>"
CONTINUE = "`code-commit --planning --codepath=.` continues"  # as in the workflow's definition
INPUT_ENDED = "the input ended at: <state>"

CHAT = (
    "Describe the work, or type 'quit'. End a line with \\ to continue, or type 'e' for an editor."
)
CHAT_NEXT = "Describe the next task, or type 'quit'."
CHAT_FULL = """\
Your words were not sent. Describe the task in fewer words, or type 'quit' and
start a new chat."""
CHAT_RESUME = """\
The last chat (<when>) was interrupted.
Continue it? [yes/no/quit]"""
COACH_RESUMED = """\
An earlier run on these requirements was interrupted before the coach had reviewed the
player's work: continuing with the coach."""
LOOP_RESUMED = """\
An earlier run on these requirements was interrupted after turn <turn>:
continuing with the coach's feedback."""
