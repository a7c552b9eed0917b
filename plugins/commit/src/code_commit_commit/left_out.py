"""Select the files that a rollup leaves out by default.

These are files that nobody wrote here, or that may contain secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from code_commit.plugin_api import Tree

_LOCK_FILES = frozenset(
    {
        *(
            "package-lock.json",
            "npm-shrinkwrap.json",
            "yarn.lock",
            "pnpm-lock.yaml",
            "bun.lock",
            "bun.lockb",
        ),
        *(
            "uv.lock",
            "poetry.lock",
            "pdm.lock",
            "Pipfile.lock",
            "pixi.lock",
            "Cargo.lock",
            "go.sum",
            "deno.lock",
        ),
        *(
            "Gemfile.lock",
            "composer.lock",
            "mix.lock",
            "Package.resolved",
            "gradle.lockfile",
            "pubspec.lock",
        ),
        *("packages.lock.json", "Podfile.lock", "flake.lock", "MODULE.bazel.lock"),
    }
)
_GENERATED = (
    *(".min.js", ".min.css", ".js.map", ".css.map", ".snap", "_pb2.py", "_pb2.pyi", "_pb2_grpc.py"),
    *(".pb.go", ".pb.cc", ".pb.h", ".g.dart", ".freezed.dart", ".designer.cs", ".Designer.cs"),
)
_VENDORED = re.compile(
    r"(?:[^/]+/)*?(?:vendor|third_party|node_modules|bower_components|site-packages|Pods|\.yarn/(?:cache|releases))/"
)
_SECRET = re.compile(  # names of files
    r"\.env(?:[._-].*)?|\.envrc|[._]netrc|\.git-credentials|\.pgpass|\.npmrc|\.pypirc|"
    r"id_(?:rsa|dsa|ecdsa|ed25519)|(?:secrets?|credentials)(?:\.(?:json|ya?ml|toml|ini|cfg|txt))?",
    re.IGNORECASE,
)
_SECRET_ENDS = (".env", ".pem", ".key", ".p12", ".pfx")
_EXAMPLE = re.compile(  # `.env.local.example`, `config.example.env`
    r"(?=.*\.env(?:[._-]|$))(?:.*[._-])?(?:(?:examples?|samples?|templates?|tmpl|tpl)(?:\..*)?|dist)",
    re.IGNORECASE,
)
# Secret only if they hold a secret.
_MAY_BE_PLAIN = frozenset({".npmrc", ".pypirc", ".netrc", "_netrc"})
_LARGEST = 64 * 1024  # bytes of such a file
_HOLDS_SECRET = re.compile(
    # Not a variable.
    rb"(?:auth|token|password|passwd|secret|credential|api_?key)\w{0,40}[\"']?(?:\s*+[=:]\s*+|\s++)(?!\$\{?\w|\Z)"
    rb"|://[^/\s@:]*+:[^/\s@]++@"  # a password in a URL
    rb"|(?<![\w+=-])(?=[\w+=-]*\d)(?=[\w+=-]*[A-Za-z])[\w+=-]{20,}",  # a long word with digits
    re.IGNORECASE,
)
LOCK_FILE, GENERATED = "It is a lock file.", "It is generated."
VENDORED, SECRET = "It usually holds copies of other projects.", "It may contain secrets."
DEFAULT_REASONS = frozenset({LOCK_FILE, GENERATED, VENDORED, SECRET})


def exclude_paths(
    paths: Sequence[str],
    exclude: Sequence[str],
    tree: Tree | None = None,
) -> tuple[list[str], dict[str, str]]:
    """Return the `paths` to include, and the reason for each path that is left out by default.

    With `tree`, a file such as `.npmrc` is left out only if it holds a secret. `exclude` are
    `.gitignore` patterns. One that begins with `!` cancels an earlier one, or a default. Files in a
    folder with copies of other projects are reported as that folder.

    Raises:
        ValueError: a pattern is malformed.
    """
    reasons = _default_reasons(paths, tree)
    left = _matching([path for path in paths if path not in reasons], exclude)
    inverted = [pattern[1:] if pattern.startswith("!") else f"!{pattern}" for pattern in exclude]
    if any(pattern.startswith("!") for pattern in exclude):
        back = _matching(list(reasons), inverted)
        reasons = {path: reason for path, reason in reasons.items() if path not in back}
    left |= reasons.keys()
    named = {
        _folder(path) if reason == VENDORED else path: reason for path, reason in reasons.items()
    }
    return [path for path in paths if path not in left], named


def may_be_secret(path: str, tree: Tree) -> bool:
    """Return whether a file may contain secrets.

    Its name tells, or the text of a file such as `.npmrc`.
    """
    return _default_reasons([path], tree).get(path) == SECRET


def _default_reasons(paths: Iterable[str], tree: Tree | None = None) -> dict[str, str]:
    reasons: dict[str, str] = {}
    vendored: dict[str, bool] = {}  # by folder: the same for all of its files
    for path in paths:
        end = path.rfind("/") + 1
        folder, name = path[:end], path[end:]
        if folder not in vendored:
            vendored[folder] = bool(_VENDORED.match(folder))
        if vendored[folder]:
            reasons[path] = VENDORED
        elif name in _LOCK_FILES:
            reasons[path] = LOCK_FILE
        elif name.endswith(_GENERATED):
            reasons[path] = GENERATED
        elif _is_secret(name) and not (
            name.lower() in _MAY_BE_PLAIN and tree and _is_plain(path, tree)
        ):
            reasons[path] = SECRET
    return reasons


def _is_secret(name: str) -> bool:
    if not (_SECRET.fullmatch(name) or name.lower().endswith(_SECRET_ENDS)):
        return False
    return not _EXAMPLE.fullmatch(name)


def _is_plain(path: str, tree: Tree) -> bool:
    """Return whether a file that often holds a secret holds none, as far as its text tells."""
    try:
        content = tree.read(path, _LARGEST)
    except OSError:
        return False
    return content is not None and len(content) < _LARGEST and not _HOLDS_SECRET.search(content)


def _folder(path: str) -> str:
    match = _VENDORED.match(path)
    return match[0] if match else path


def _matching(paths: Sequence[str], patterns: Sequence[str]) -> set[str]:
    if not patterns:
        return set()
    from pathspec import GitIgnoreSpec

    try:
        return set(GitIgnoreSpec.from_lines(patterns).match_files(paths))
    except re.error as error:  # pathspec does not escape everything that git allows in brackets
        raise ValueError(f"cannot read {' '.join(patterns)!r}: {error}") from error
