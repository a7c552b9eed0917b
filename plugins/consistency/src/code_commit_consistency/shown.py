"""What people see of the reports and their findings."""

from __future__ import annotations

from collections.abc import Sequence

from code_commit.plugin_api import MessageLogged, Run, count_of, join_paths, shorten
from code_commit_consistency.findings import Finding
from code_commit_consistency.report_files import FOLDER, report_name
from code_commit_consistency.samples import Sample
from code_commit_consistency.wrapping import wrapped

_LONGEST_WORDS = 120  # characters of a finding


def warn_of_sections(run: Run, samples: Sequence[Sample]) -> None:
    """Report the sections that are missing or were not asked for."""
    for position, sample in enumerate(samples, 1):
        differences = {"missing": sample.report.missing, "extra": sample.report.extra}
        for difference, names in differences.items():
            if names:
                sections = count_of(len(names), f"{difference} section")
                text = f"{FOLDER}/{report_name(position)}: {sections}: {', '.join(names)}"
                run.emit(MessageLogged(text, level="warning"))


def show(run: Run, samples: Sequence[Sample], findings: Sequence[Finding]) -> None:
    """Print the reports, and the list of their findings."""
    for position, sample in enumerate(samples, 1):
        title = ""
        if len(samples) > 1:
            title = f"--- {FOLDER}/{report_name(position)} ---\n\n"
        if position > 1:
            title = f"\n{title}"
        run.say(title + wrapped(sample.text))
    if findings:
        run.say("\n".join(["", f"--- {count_of(len(findings), 'finding')} ---", ""]))
        for finding in findings:
            run.say(_described(finding, len(samples)))


def _described(finding: Finding, reports: int) -> str:
    """Return a finding on two lines: its section and places, and its first words."""
    in_reports = ""
    if reports > 1:
        in_reports = f" (in {len(finding.samples)} of {reports} reports)"
    places = [f"{place.path}:{place.line}" for place in finding.places]
    in_places = {place.path for place in finding.places}
    places += [path for path in finding.paths if path not in in_places]
    about = f": {join_paths(places)}" if places else ""
    words = shorten(" ".join(finding.text.split()), _LONGEST_WORDS)
    return f"{finding.section}{in_reports}{about}\n    {words}"
