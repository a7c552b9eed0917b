# What this package offers, one name a line. `__init__.py` imports each on first use.
from .errors import ChangeSetRefused as ChangeSetRefused
from .errors import CodeCommitError as CodeCommitError
from .errors import Conflict as Conflict
from .errors import Interrupted as Interrupted
from .errors import NotReady as NotReady
from .files.programs import find_program as find_program
from .files.project_text import decode_text as decode_text
from .files.project_tree import ProjectTree as ProjectTree
from .files.project_tree import normalise_path as normalise_path
from .files.project_tree import open_regular as open_regular
from .files.small_file import read_in_project as read_in_project
from .files.small_file import require_no_link_out as require_no_link_out
from .files.tree_removal import remove_tree as remove_tree
from .files.way_of_path import replaceable_places as replaceable_places
from .files.whole_file import create_file as create_file
from .files.whole_file import replace_file as replace_file
from .git import Git as Git
from .git import GitError as GitError
from .git import NoRepository as NoRepository
from .git.committing import NextCommit as NextCommit
from .git.committing import StatusEntry as StatusEntry
from .guard.private_folder import check_private_folder as check_private_folder
from .guard.private_folder import require_gitignore_line as require_gitignore_line
from .keys.redaction import Redactor as Redactor
from .move.moving import Moved as Moved
from .process.launch import Process as Process
from .process.running import RunningProcess as RunningProcess
from .process.terminal_text import as_on_terminal as as_on_terminal
from .records import Change as Change
from .records import PathRule as PathRule
from .records import ProcessResult as ProcessResult
from .records import Protected as Protected
from .records import Refusal as Refusal
from .records import SandboxSettings as SandboxSettings
from .records import StoreLimits as StoreLimits
from .records import Tree as Tree
from .scope import Scope as Scope
from .stop import STOP as STOP
from .stop import Stop as Stop
from .store.run_changes import RunChanges as RunChanges
from .store.store import Store as Store
from .store.undo import Undone as Undone
from .workspace import Workspace as Workspace

__version__: str
__all__: list[str]  # noqa: PYI035 - the names above
