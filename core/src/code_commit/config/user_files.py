"""Read the user's own files, which may be links and may be anywhere."""

from __future__ import annotations

from pathlib import Path

from code_commit.plugin_api.errors import NotReady
from code_commit_workspace import open_regular


def read_user_file(path: Path, shown: str, *, limit: int) -> bytes | None:
    """Return the content of the regular file at `path`, or None when it does not exist.

    `shown` names it in errors.

    Raises:
        NotReady: it is not a regular file, not readable, or larger than `limit` bytes.
    """
    try:
        with open_regular(path, follow=True) as file:
            content = file.read(limit + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = error.strerror or "it is not readable"
        raise NotReady(f"{shown} cannot be read: {reason[:1].lower()}{reason[1:]}") from None
    except ValueError:
        raise NotReady(f"{shown} cannot be read: no file can have this name") from None
    if len(content) > limit:
        raise NotReady(f"{shown} cannot be read: larger than {limit} bytes")
    return content
