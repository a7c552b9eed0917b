"""The addresses of repositories: URLs and folders that git may use."""

from __future__ import annotations

import re
from pathlib import Path

_SCHEMES = {"https", "http", "ssh", "file"}


def is_remote(url: str) -> bool:
    return "://" in url or bool(re.match(r"[\w.-]+(@[\w.-]+)?:(?!/)", url))


def absolute_url(url: str, folder: Path) -> str:
    return url if is_remote(url) else str((folder / Path(url).expanduser()).resolve())


def url_problem(url: str) -> str:
    """Return why git must not use `url`, or ""."""
    scheme, separator, rest = url.partition("://")
    user, at, host = rest.partition("/")[0].rpartition("@")
    problems = {
        f"{url!r} looks like an option": url.startswith("-"),
        f"{url.partition('::')[0]}:: is not supported: use https, ssh, or a folder": "::" in url
        and not separator,
        "it has a password; remove it": not separator
        and is_remote(url)
        and ":" in url.rpartition("@")[0],
    }
    if separator:
        problems |= {
            f"{scheme}:// is not supported: use https, ssh, or a folder": scheme not in _SCHEMES,
            "it has a user or password; remove them, and use git's credential helper": bool(at)
            and (scheme != "ssh" or ":" in user),
            "it names no host": host.startswith("-") or not (host or scheme == "file"),
            "it has a query string, which may contain a key": bool(re.search(r"[?#].*=", rest)),
        }
    return next((problem for problem, found in problems.items() if found), "")
