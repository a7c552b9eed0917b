"""Request the reports, and keep what arrived of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial

from code_commit.plugin_api import (
    CodeCommitError,
    Completion,
    Finish,
    Json,
    MessageLogged,
    ResponseRefused,
    Run,
    run_concurrently,
)
from code_commit_consistency.headings import SECTIONS
from code_commit_consistency.report_files import report_name
from code_commit_consistency.sections import SectionedReport, sectioned


@dataclass(frozen=True, slots=True)
class Sample:
    """A report that arrived. `problem` is why it is incomplete; an empty text if it is not."""

    number: int
    text: str = field(repr=False)
    model: str
    problem: str
    report: SectionedReport = field(repr=False)

    def document(self, position: int) -> Json:
        """Return the sample for programs; `position` is that of its file."""
        return {
            "report": report_name(position),
            "model": self.model,
            "complete": not self.problem,
            "problem": self.problem,
            "preamble": self.report.preamble,
            "sections": [asdict(section) for section in self.report.sections],
            "missing": list(self.report.missing),
            "extra": list(self.report.extra),
        }


def request_samples(run: Run, ask: Callable[..., Completion], count: int) -> list[Sample]:
    """Request `count` reports at once, and return those that arrived.

    Raises:
        CodeCommitError: none arrived.
    """
    calls = [partial(_sample, run, ask, number) for number in range(1, count + 1)]
    results = run_concurrently(calls)
    samples = [result for result in results if isinstance(result, Sample)]
    errors = [result for result in results if isinstance(result, BaseException)]
    bugs = [error for error in errors if not isinstance(error, CodeCommitError)]
    if bugs or not samples:
        raise (bugs or errors)[0]
    for number, result in enumerate(results, 1):
        if isinstance(result, BaseException):
            run.emit(MessageLogged(f"report {number} failed: {result}", level="error"))
    return samples


def problems_of(samples: Sequence[Sample], count: int) -> list[str]:
    """Return what is wrong with the reports, one line each."""
    problems = [
        f"{'the report' if count == 1 else f'report {sample.number}'} {sample.problem}"
        for sample in samples
        if sample.problem
    ]
    if failed := count - len(samples):
        problems.append(f"{failed} of {count} reports failed")
    return problems


def _sample(run: Run, ask: Callable[..., Completion], number: int) -> Sample:
    # The host's label of a repeated call, so that report and call have the same number.
    label = "query" if number == 1 else f"query-{number}"
    with run.span("consistency.sample", number=number):
        completion = ask(label=label)
        if not completion.text.strip():
            raise ResponseRefused("the report is empty", hint="try again, or use another model")
        report = sectioned(completion.text)
        problem = _problem(completion, report)
        return Sample(number, completion.text, completion.model, problem, report)


def _problem(completion: Completion, report: SectionedReport) -> str:
    if completion.finish is not Finish.STOP:
        return f"is incomplete: {completion.ending}"
    if len(report.missing) == len(SECTIONS):
        return f"has none of the {len(SECTIONS)} sections"
    return ""
