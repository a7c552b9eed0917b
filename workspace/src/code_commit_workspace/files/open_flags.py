"""Flags to open a file or folder that is not trusted.

No link is followed, but to the root of a project, and no process inherits the handle.
"""

from __future__ import annotations

import os

_PLAIN = os.O_NOFOLLOW | os.O_CLOEXEC

FOLDER = os.O_RDONLY | os.O_DIRECTORY | _PLAIN
ROOT_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
CLOSED_FOLDER = os.O_PATH | os.O_DIRECTORY | _PLAIN  # also one that its owner may not read
ANY_KIND = os.O_PATH | _PLAIN  # names what is there, and opens nothing
OLD_FILE = os.O_RDONLY | os.O_NONBLOCK | _PLAIN  # does not wait at a pipe
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _PLAIN
EMPTIED_FILE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _PLAIN
APPENDED_FILE = os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | _PLAIN
LOCK_FILE = os.O_RDWR | os.O_CREAT | _PLAIN
