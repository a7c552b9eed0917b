"""The addresses of repositories: URLs and folders that git may use."""

from __future__ import annotations

import re
from pathlib import Path

_SCHEMES = {"https", "http", "ssh", "file"}


def is_remote(url: str) -> bool:
    """Return whether an address is not a folder of this machine."""
    return "://" in url or bool(re.match(r"[\w.-]+(@[\w.-]+)?:(?!/)", url))


def absolute_url(url: str, folder: Path) -> str:
    """Return an address with the path of a folder made absolute, from `folder`."""
    if is_remote(url):
        return url
    return str((folder / Path(url).expanduser()).resolve())


def url_problem(url: str) -> str:
    """Return why git must not use `url`, or ""."""
    if url.startswith("-"):
        return f"{url!r} looks like an option"
    scheme, separator, location = url.partition("://")
    if separator and scheme not in _SCHEMES:
        return _unsupported(f"{scheme}://")
    if separator:
        return _problem_of_location(scheme, location)
    if "::" in url:
        return _unsupported(f"{url.partition('::')[0]}::")
    if is_remote(url) and ":" in url.rpartition("@")[0]:
        return "it has a password; remove it"
    return ""


def _unsupported(start: str) -> str:
    return f"{start} is not supported: use https, ssh, or a folder"


def _problem_of_location(scheme: str, location: str) -> str:
    user, at, host = location.partition("/")[0].rpartition("@")
    if at and (scheme != "ssh" or ":" in user):
        return "it has a user or password; remove them, and use git's credential helper"
    if host.startswith("-") or not (host or scheme == "file"):
        return "it names no host"
    if any("=" in part for part in re.split("[?#]", location)[1:]):
        return "it has a query string, which may contain a key"
    return ""
