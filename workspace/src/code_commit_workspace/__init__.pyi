# What this package offers, one name a line; `__init__.py` says where each is, and imports it when it is asked for.
from .checkpoint import Checkpoints as Checkpoints
from .code_checks import checked_result as checked_result
from .code_checks import fault_of_function as fault_of_function
from .code_checks import is_async as is_async
from .code_checks import require_sync as require_sync
from .errors import ChangeSetRefused as ChangeSetRefused
from .errors import CodeCommitError as CodeCommitError
from .errors import Interrupted as Interrupted
from .errors import NotReady as NotReady
from .errors import describe as describe
from .errors import no_room as no_room
from .git import Git as Git
from .git import GitError as GitError
from .git import NoRepository as NoRepository
from .interruption import call_on_interruption as call_on_interruption
from .interruption import uninterrupted as uninterrupted
from .private_folder import check_private_folder as check_private_folder
from .private_folder import require_gitignore_line as require_gitignore_line
from .process.ptrace import disable_ptrace as disable_ptrace
from .process.running import RunningProcess as RunningProcess
from .project_text import decode_text as decode_text
from .project_text import read_text as read_text
from .project_tree import ProjectTree as ProjectTree
from .records import Change as Change
from .records import PathRule as PathRule
from .records import ProcessResult as ProcessResult
from .records import Protected as Protected
from .records import Refusal as Refusal
from .records import SandboxSettings as SandboxSettings
from .records import Tree as Tree
from .redaction import RedactingStream as RedactingStream
from .redaction import Redactor as Redactor
from .small_file import read_anywhere as read_anywhere
from .small_file import read_in_project as read_in_project
from .terminal import SafeStream as SafeStream
from .terminal import can_repaint as can_repaint
from .terminal import discard_output as discard_output
from .terminal import may_color as may_color
from .terminal import printable as printable
from .terminal import read_answer as read_answer
from .threads import Worker as Worker
from .threads import run_concurrently as run_concurrently
from .workspace import Workspace as Workspace

__version__: str
__all__: list[str]  # noqa: PYI035 - the names above
