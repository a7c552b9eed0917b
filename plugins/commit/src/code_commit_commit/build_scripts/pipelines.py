"""The commands that a project's pipeline runs: workflows of GitHub, and `.gitlab-ci.yml`.

Only a plain command counts, in a step that always runs, on Linux, and without variables: what the
rest would do here is unknown.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from code_commit_commit.build_scripts.folder import Folder

_WORKFLOW = re.compile(r"\.github/workflows/[^/]+\.ya?ml")
_GITLAB = ".gitlab-ci.yml"
_MOST = 20  # workflows
_CHANGES = ("push", "pull_request")
_LARGEST = 64 * 1024  # characters of one
# Of a job of GitLab: whether and how it runs depends on more than its script.
_CONDITIONS = frozenset(["rules", "only", "except", "when", "variables", "extends"])
_PLAIN_VARIABLES = re.compile(r"CI|.*COLOR.*|PIP_.*|UV_.*|PYTEST_ADDOPTS|COLUMNS|TERM", re.ASCII)
_SPECIAL = re.compile(r"[$`|&;<>(){}*?!#~\\\n\"']")  # to a shell
# The first words of commands that test a project.
_TESTS: Mapping[str, str] = {
    "Python": r"(?:(?:uv|poetry|pdm|pipenv|hatch) run )?"
    r"(?:(?:python3? -m )?(?:pytest|py\.test|unittest)|hatch test"
    r"|python3? (?:\S+/)?(?:manage\.py test|run_?tests?\.py))\b",
    "Ruby": r"(?:bundle exec )?(?:rspec|rake (?:test|spec)|rails test)\b|bin/(?:rails|rake) test\b",
    "PHP": r"composer (?:run(?:-script)? )?test\b|(?:\./)?vendor/bin/(?:phpunit|pest)\b",
    "C": r"make (?:\S+ )*(?:check|test)\b|ctest\b|(?:\./)?run-?_?tests?\b|(?:\./)?test\.sh\b",
}
_TESTS_PYTHON = re.compile(
    r"pytest|unittest|manage\.py test|\b(?:tox|nox)\b|make (?:test|check|ci)"
)
_LOOKS_LIKE_TESTS = re.compile(r"\btests?\b|pytest|rspec|ctest|\bcheck\b")
# Options that write reports, or that ask for a coverage.
_REPORTS = re.compile(r"--(?:cov|junit|html|report|color)[\w-]*(?:=\S*)?")
_PIP_FLAGS = ("-e", "-r", "-U", "--editable", "--group", "--requirement", "--upgrade")
_INSTALLS = re.compile(r"(?:python3? -m )?pip install (?!.*--upgrade pip$|.*-U pip$)")


@dataclass(frozen=True, slots=True)
class Step:
    """A line of a step of a job. It is not `plain` if what it does here is unknown."""

    line: str
    file: str
    job: str
    plain: bool


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The lines of all steps, and what could not be read."""

    steps: tuple[Step, ...] = ()
    unread: tuple[str, ...] = ()

    def tests(self, family: str) -> str:
        """Return the first plain command that tests sources of a family, or ""."""
        for step in self.steps:
            if step.plain and re.match(_TESTS[family], step.line):
                return " ".join(_REPORTS.sub("", step.line).split())
        return ""

    def pip_arguments(self) -> str:
        """Return what pip installs in the job that tests, in one command line, or ""."""
        jobs = [(step.file, step.job) for step in self.steps if _TESTS_PYTHON.search(step.line)]
        lines = [
            arguments
            for step in self.steps
            if (step.file, step.job) in jobs[:1] and step.plain
            if (arguments := _pip_arguments(step.line))
        ]
        return " ".join(dict.fromkeys(lines))

    def not_understood(self) -> list[str]:
        """Return what looks like tests, but is no plain command."""
        lines = [
            f"{step.file}: {step.line[:80]}"
            for step in self.steps
            if not step.plain and _LOOKS_LIKE_TESTS.search(step.line)
        ]
        return [*self.unread, *dict.fromkeys(lines)]


def find_pipeline(top: Folder) -> Pipeline:
    """Return the steps of all workflows, of the ones that are named after tests first."""
    files = [path for path in top.paths if _WORKFLOW.fullmatch(path)]
    files.sort(key=lambda path: not re.search(r"test|ci|check|main|build", path.rpartition("/")[2]))
    if _GITLAB in top.names:
        files.append(_GITLAB)
    steps: list[Step] = []
    unread: list[str] = []
    for file in files[:_MOST]:
        document = _document(top.read(file))
        if document is None:
            unread.append(file)
        elif file == _GITLAB:
            steps += _gitlab_steps(document)
        elif _runs_for_changes(document):
            steps += _github_steps(document, file)
    return Pipeline(tuple(steps), tuple(unread))


def _document(text: str) -> dict[Any, Any] | None:
    """Return a YAML document that is a mapping, or None.

    A document with merge keys counts as unreadable: they can grow without limit.
    """
    import yaml

    if len(text) > _LARGEST or "<<" in text:
        return None
    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError):
        return None
    return document if isinstance(document, dict) else None


def _runs_for_changes(document: dict[Any, Any]) -> bool:
    events = document.get("on", document.get(True))  # YAML 1.1 reads `on` as a truth value
    if isinstance(events, str):
        return events in _CHANGES
    return isinstance(events, (list, dict)) and any(name in events for name in _CHANGES)


def _github_steps(document: dict[Any, Any], file: str) -> Iterator[Step]:
    for name, job in _mappings(document.get("jobs")):
        is_ours = _runs_here(job.get("runs-on")) and "if" not in job
        outer = is_ours and _has_plain_variables(document, job)
        steps = job.get("steps")
        for step in steps if isinstance(steps, list) else ():
            if not isinstance(step, dict) or not isinstance(step.get("run"), str):
                continue
            # Where a step works, and which shell it uses, would matter.
            plain = outer and not {"if", "working-directory", "shell"} & step.keys()
            plain = plain and "defaults" not in job and _has_plain_variables(step)
            yield from _steps(step["run"], file, str(name), plain=plain)


def _runs_here(systems: object) -> bool:
    """Return whether a job may run on Linux. No text is made of lists: aliases let them explode."""
    if isinstance(systems, dict):
        systems = systems.get("labels")
    names = systems if isinstance(systems, list) else [systems]
    return any(isinstance(name, str) and re.search("ubuntu|matrix", name) for name in names)


def _gitlab_steps(document: dict[Any, Any]) -> Iterator[Step]:
    for name, job in _mappings(document):
        if name in {"default", "workflow"} or str(name).startswith("."):
            continue
        plain = "variables" not in document and _CONDITIONS.isdisjoint(job)
        script = job.get("script")
        lines = [script] if isinstance(script, str) else script
        for line in lines if isinstance(lines, list) else ():
            if isinstance(line, str):
                yield from _steps(line, _GITLAB, str(name), plain=plain)


def _steps(text: str, file: str, job: str, *, plain: bool) -> Iterator[Step]:
    """Yield the lines of a script.

    After a line that changes the folder or the shell, no line is plain.
    """
    for written in text.replace("\\\n", " ").splitlines():
        line = " ".join(written.split())
        if re.match(r"(?:cd|export|source|set|if|for|while|case|function|\.)\b|\. |\w+=", line):
            plain = plain and line.startswith("set -")
            continue
        if line and not line.startswith("#"):
            yield Step(line, file, job, plain and _is_simple(line))


def _pip_arguments(line: str) -> str:
    """Return what pip installs, or "" if the project and the usual index lack some of it."""
    installs = _INSTALLS.match(line)
    if not installs:
        return ""
    arguments = line[installs.end() :]
    plain = all(
        word in _PIP_FLAGS or not re.search(r"^-|://|@", word) for word in arguments.split()
    )
    return arguments if plain else ""


def _is_simple(line: str) -> bool:
    """Return whether a shell would only split the line into words. Quotes around a word pass."""
    try:
        words = shlex.split(line)
    except ValueError:
        return False
    return line.isprintable() and not any(_SPECIAL.search(word) for word in words)


def _mappings(value: object) -> Iterator[tuple[Any, dict[Any, Any]]]:
    if isinstance(value, dict):
        yield from ((name, item) for name, item in value.items() if isinstance(item, dict))


def _has_plain_variables(*places: dict[Any, Any]) -> bool:
    for place in places:
        variables = place.get("env") or {}
        if not isinstance(variables, dict):
            return False
        if not all(_PLAIN_VARIABLES.fullmatch(str(name)) for name in variables):
            return False
    return True
