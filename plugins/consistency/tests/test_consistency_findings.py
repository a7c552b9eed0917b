"""The findings of a report: where they are, which specification they are about, and who agrees."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_commit_consistency.agreement import agreed
from code_commit_consistency.code_files import Code, Place
from code_commit_consistency.findings import findings_of
from code_commit_consistency.sections import sectioned

SPECIFICATION = "# Net\n\nThe timeout is thirty\nseconds for all calls.\n"
SOURCE = "TIMEOUT = 10\n\n\ndef call(url):\n    return get(url, timeout=TIMEOUT)\n"
FILES = {"UserSpecification.md": SPECIFICATION, "src/net.py": SOURCE}
ROLLUP = "".join(f"--- {path} ---\n{text}" for path, text in FILES.items())
ITEM = """\
1. **Timeout**: the specification says "timeout is thirty seconds
   for all calls", but the code has `TIMEOUT = 10`.

   ```python
   return get(url, timeout=TIMEOUT)
   ```
"""
REPORT = f"""\
## User Specification Self Consistency

No contradictions were found.

## Implementation Consistency with User Specification

These parts differ:

{ITEM}
2. `net.py` has no test.

## Errors and Mistakes within the User Specification

The specification is internally consistent.

## Errors and Mistakes within the Implementation

### Missing retry

`def call(url):` never retries.

It should.

**Names**

Rename `call`.

## Suggestions and Other Important Commentary

One paragraph
on two lines.

Another one.
"""


def found(text: str, rollup: str = ROLLUP, specifications=("UserSpecification.md",), number=1):
    return list(findings_of(sectioned(text), Code(rollup), specifications, number))


def test_items_titles_and_paragraphs_are_findings() -> None:
    findings = found(REPORT)
    assert [finding.text for finding in findings] == [
        ITEM.strip(),
        "2. `net.py` has no test.",
        "### Missing retry\n\n`def call(url):` never retries.\n\nIt should.",
        "**Names**\n\nRename `call`.",
        "One paragraph\non two lines.",
        "Another one.",
    ]


def test_a_finding_has_the_files_that_it_names_and_the_lines_that_it_quotes() -> None:
    timeout, untested, retry, *_ = found(REPORT)
    assert timeout.places == (
        Place("UserSpecification.md", 3, 4),
        Place("src/net.py", 1, 1),
        Place("src/net.py", 5, 5),
    )
    assert timeout.paths == ("UserSpecification.md", "src/net.py")
    assert (untested.paths, untested.places) == (("src/net.py",), ())
    assert retry.places == (Place("src/net.py", 4, 4),)


def test_a_quotation_that_stands_everywhere_has_no_place() -> None:
    text = "## Errors and Mistakes within the Implementation\n\nWhy `x = 1` again?\n"
    [finding] = found(text, "--- a.py ---\n" + "x = 1\n" * 4)
    assert finding.places == ()


@pytest.mark.parametrize(
    ("text", "specification"),
    [
        ("In api/UserSpecification.md, it differs.", "api/UserSpecification.md"),
        ('It says "calls are never repeated".', "UserSpecification.md"),
        ("Something differs.", ""),
    ],
)
def test_of_several_specifications_the_one_that_is_named_or_quoted(text, specification) -> None:
    files = {
        "UserSpecification.md": "Calls are never repeated. calls are never repeated\n",
        "api/UserSpecification.md": "Other.\n",
    }
    rollup = "".join(f"--- {path} ---\n{text}" for path, text in files.items())
    report = f"## Implementation Consistency with User Specification\n\n{text}\n"
    [finding] = found(report, rollup, tuple(files))
    assert finding.specification == specification


def test_reports_that_agree_share_a_finding() -> None:
    name = "## Errors and Mistakes within the Implementation\n\n"
    first = found(f"{name}- The function `def call(url):` never retries.\n- Colors differ.\n")
    second = found(
        f"{name}- Sometimes the call never retries after errors: `def call(url):`\n", number=2
    )
    third = found(f"{name}- Logging is missing entirely here.\n", number=3)
    findings = agreed([*first, *second, *third])
    assert [(finding.samples, finding.text[:12]) for finding in findings] == [
        ((1, 2), "- The functi"),
        ((1,), "- Colors dif"),
        ((3,), "- Logging is"),
    ]


@given(st.text(alphabet='#*-`"\n 1.ab/~', max_size=300))
def test_no_report_is_too_odd(text: str) -> None:
    report = f"## User Specification Self Consistency\n\n{text}"
    for finding in found(report, f"--- a/b ---\n{text}"):
        assert finding.text.strip()
        assert set(finding.paths) <= {"a/b"}


def test_a_large_report_about_large_code_takes_little_time() -> None:
    items = "".join(
        f"- `value_{number} = {number}` in src/f{number % 50}.py\n" for number in range(200)
    )
    code = "".join(
        f"--- src/f{file}.py ---\n" + "".join(f"value_{line} = {line}\n" for line in range(2000))
        for file in range(50)
    )
    begin = time.process_time()
    assert len(found(f"## User Specification Self Consistency\n\n{items}", code)) == 200
    assert time.process_time() - begin < 5


def test_the_document_and_the_screen_have_the_findings(review) -> None:
    review.project.write({"agent-config/codeRollup.txt": ROLLUP})
    review.server.script(REPORT)
    finished = review()
    assert finished.exit_code == 0
    document = json.loads(review.project.read("agent-config/consistency-report.json"))
    assert document["specifications"] == ["UserSpecification.md"]
    assert document["complete"]
    finding = document["findings"][0]
    assert finding["section"] == "Implementation Consistency with User Specification"
    assert finding["places"][0] == {"path": "UserSpecification.md", "line": 3, "end": 4}
    assert (finding["specification"], finding["samples"]) == ("UserSpecification.md", [1])
    assert "--- 6 findings ---" in finished.stdout
    assert "UserSpecification.md:3, src/net.py:1, src/net.py:5" in finished.stdout
    assert "6 findings" in finished.stderr


def test_fail_on_any_is_for_the_first_four_sections(review) -> None:
    harmless = REPORT[REPORT.index("## Suggestions") :]
    review.server.script(REPORT, harmless)
    finished = review("--cc", "--fail-on", "any")
    assert finished.exit_code == 1
    assert "6 findings, 4 of them in the first 4 sections" in finished.stderr
    assert review("--cc", "--fail-on", "any").exit_code == 0
    assert review("--cc", "--fail-on", "some").exit_code == 2


def test_a_question_and_one_specification(review) -> None:
    other = "--- api/UserSpecification.md ---\nNo timeout.\n"
    review.project.write({"agent-config/codeRollup.txt": other + ROLLUP})
    review.server.script(REPORT, REPORT)
    finished = review("--cc", "--query", "Is the timeout right?")
    assert finished.exit_code == 0, finished.stderr
    assert "comparing with UserSpecification.md, api/UserSpecification.md" in finished.stderr
    assert review("--cc", "--spec", "api/UserSpecification.md").exit_code == 0
    first, second = (request.prompt for request in review.server.requests)
    assert "[query]\nIs the timeout right?\n" in first
    assert "The user specification is api/UserSpecification.md.\n" in second
    assert (other in second, SPECIFICATION in second, SOURCE in second) == (True, False, True)
    missing = review("--cc", "--spec", "gone.md")
    assert (missing.exit_code, len(review.server.requests)) == (3, 2)
    assert "the code has no file gone.md" in missing.stderr


def test_a_mention_is_no_specification(review) -> None:
    rollup = "--- main.py ---\n# See UserSpecification.md\n"
    review.project.write({"agent-config/codeRollup.txt": rollup})
    review.server.script(REPORT)
    assert "contains no UserSpecification.md" in review().stderr
