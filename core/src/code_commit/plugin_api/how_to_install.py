"""The command that adds a first-party plugin to this installation of code-commit.

uv, pipx and pip record what they were asked to install, and from where. A command with these extras
keeps them: `uv tool install` removes what it is not asked for.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Collection
from contextlib import suppress

# What people install: from a package index, or from a checkout.
_FROM_INDEX, _FROM_CHECKOUT = "code-commit", "code-commit-checkout"
_NAMES = (_FROM_INDEX, _FROM_CHECKOUT)
# What reading a record raises if it is missing or has another form.
_MALFORMED = (OSError, ValueError, LookupError, TypeError, AttributeError, ImportError)


def installation(distribution: str) -> str:
    """Return the command that installs a first-party plugin, in addition to what is there."""
    extra = distribution.removeprefix("code-commit-")
    for command in (_uv_command, _pipx_command, _pip_command):
        with suppress(*_MALFORMED):
            return command(extra)
    return f'in a checkout of code-commit, pip install ".[{extra}]" or uv tool install ".[all]"'


def _uv_command(extra: str) -> str:
    """Return the command for a tool of uv.

    Raises:
        OSError, ValueError, LookupError: this is none, or not one that can be installed again.
    """
    import tomllib

    receipt = tomllib.loads(_record("uv-receipt.toml"))
    words = ["uv tool install"]
    for requirement in receipt["tool"]["requirements"]:
        if requirement.keys() - {"name", "extras", "specifier", "directory"}:
            raise ValueError("it comes from somewhere else, such as a repository")
        source = requirement["name"]
        extras = {*requirement.get("extras", ())}
        if source in _NAMES:
            extras.add(extra)
        else:
            words.append("--with")
        if "directory" in requirement:
            source = _existing(requirement["directory"])
        words.append(_quoted(source, extras, requirement.get("specifier", "")))
    return " ".join(words)


def _pipx_command(extra: str) -> str:
    """Return the command for an application of pipx.

    Raises:
        OSError, ValueError, LookupError: this is none, or not one that can be installed again.
    """
    import json

    from packaging.requirements import Requirement

    metadata = json.loads(_record("pipx_metadata.json"))
    spec = metadata["main_package"]["package_or_url"]
    if spec.startswith("/"):
        folder, _, extras = spec.removesuffix("]").partition("[")
        chosen = {*filter(None, extras.split(",")), extra}
        return f"pipx install --force {_quoted(_existing(folder), chosen)}"
    requirement = Requirement(spec)
    if requirement.url:
        raise ValueError("it comes from somewhere else, such as a repository")
    chosen = {*requirement.extras, extra}
    return f"pipx install --force {_quoted(requirement.name, chosen, str(requirement.specifier))}"


def _pip_command(extra: str) -> str:
    """Return the command for any other environment: pip keeps what is there.

    Raises:
        OSError, ValueError, LookupError: it is one for work on code-commit itself.
    """
    from importlib.metadata import PackageNotFoundError, distribution
    from importlib.util import find_spec

    source = _FROM_INDEX
    try:
        record = distribution(_FROM_CHECKOUT).read_text("direct_url.json") or ""
        source = _folder_of(record)
    except PackageNotFoundError:
        if distribution(_FROM_INDEX).read_text("direct_url.json"):
            raise ValueError("it is a part of a checkout") from None
    python = shlex.quote(sys.executable)
    pip = f"{python} -m pip install"
    if find_spec("pip") is None:
        pip = f"uv pip install --python {python}"
    return f"{pip} {_quoted(source, {extra})}"


def _folder_of(record: str) -> str:
    """Return the folder that pip installed, from its `direct_url.json`.

    Raises:
        ValueError, LookupError: it was none, or the installation is editable.
    """
    import json
    from urllib.parse import unquote, urlsplit

    origin = json.loads(record)
    if origin["dir_info"].get("editable"):
        raise ValueError("it is editable")
    return _existing(unquote(urlsplit(origin["url"]).path))


def _record(name: str) -> str:
    with open(f"{sys.prefix}/{name}", encoding="utf-8") as file:  # noqa: PTH123 - pathlib costs
        return file.read()


def _existing(folder: str) -> str:
    if not os.path.isdir(folder):  # noqa: PTH112 - raises nothing
        raise ValueError(f"there is no folder {folder}")
    return folder


def _quoted(source: str, extras: Collection[str], specifier: str = "") -> str:
    """Return a requirement for a shell. `source` is a name or a folder."""
    text = source
    if extras:
        text += f"[{','.join(sorted(extras))}]"
    text += specifier
    if set('"$`\\!') & set(text):
        return shlex.quote(text)
    return f'"{text}"'
