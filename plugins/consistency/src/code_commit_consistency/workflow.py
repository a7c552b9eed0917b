"""The consistency workflow: one report, or several at once, and what they find."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial

from code_commit.plugin_api import (
    Json,
    Message,
    MessageLogged,
    Model,
    Outcome,
    PromptPart,
    PromptSize,
    Request,
    Result,
    Run,
    Text,
    count_of,
    join_paths,
    query_of_flags,
)
from code_commit_commit.hooks import fresh_code
from code_commit_consistency.agreement import agreed
from code_commit_consistency.code_files import Code
from code_commit_consistency.findings import Finding, findings_of
from code_commit_consistency.headings import SECTIONS
from code_commit_consistency.prompt import (
    CODEBASE,
    consistency_prompt,
    prompt_parts,
    read_codebase,
    read_query,
    require_files_fit,
)
from code_commit_consistency.report_files import FOLDER, publish, report_name, require_room
from code_commit_consistency.samples import Sample, problems_of, request_samples
from code_commit_consistency.shown import show, warn_of_sections
from code_commit_consistency.specifications import (
    SPECIFICATION,
    chosen_specifications,
    without_others,
)

_COMMENTARY = SECTIONS[-1]


def report(run: Run) -> Result:
    """Request `samples` reports, write them and their findings, and print them wrapped.

    What arrives is written, also if it is incomplete; the run is then not reached.

    Raises:
        NotReady: there is no code rollup or no such specification, the prompt exceeds the model's
            window, or the report cannot be written.
        ProviderFailed, ResponseRefused: no report arrived, and the earlier ones stay.
    """
    model = run.model()
    count = run.options.samples
    inputs = _read_inputs(run, model)
    require_room(run.root, count)
    ask = partial(model.complete, inputs.request, parts=inputs.parts)
    samples = request_samples(run, ask, count)
    findings = agreed(_findings(samples, inputs))
    problems = problems_of(samples, count)
    document = {
        "version": 2,
        "run": run.folder.name,
        "model": model.name,
        "complete": not problems,
        "specifications": list(inputs.specifications),
        "samples": [sample.document(position) for position, sample in enumerate(samples, 1)],
        "findings": [asdict(finding) for finding in findings],
    }
    publish(run.root, [sample.text for sample in samples], document, run.folder.name)
    warn_of_sections(run, samples)
    show(run, samples, findings)
    return _result(run, document, problems, findings)


@dataclass(frozen=True, slots=True)
class _Inputs:
    """The request of a report, the parts of its prompt, and what it is about."""

    request: Request = field(repr=False)
    parts: tuple[PromptPart, ...]
    code: Code = field(repr=False)
    specifications: Sequence[str]


def _read_inputs(run: Run, model: Model) -> _Inputs:
    """Read the query and the code.

    Raises:
        NotReady: they are missing, or exceed the model's window.
    """
    require_files_fit(run.tree, model)
    codebase = fresh_code(run, model.require_fit)
    if codebase is None:
        codebase = read_codebase(run.tree)
    code = Code(codebase)
    specifications = chosen_specifications(code, run.options.spec)
    if specifications:
        run.emit(MessageLogged(f"comparing with {join_paths(specifications)}"))
    else:
        text = f"{CODEBASE} contains no {SPECIFICATION}"
        run.emit(MessageLogged(text, level="warning"))
    query = query_of_flags(run.options, run.root, model.require_fit)
    if query is None:
        query = read_query(run.tree)
    if run.options.spec:
        query += f"\nThe user specification is {specifications[0]}.\n"
        codebase = without_others(codebase, code, specifications)
    request = Request((Message("user", (Text(consistency_prompt(query, codebase)),)),))
    parts = prompt_parts(query, codebase)
    model.require_fit(PromptSize.of(request, parts))
    return _Inputs(request, parts, code, specifications)


def _findings(samples: Sequence[Sample], inputs: _Inputs) -> Iterator[Finding]:
    for sample in samples:
        yield from findings_of(sample.report, inputs.code, inputs.specifications, sample.number)


def _result(
    run: Run,
    document: Json,
    problems: Sequence[str],
    findings: Sequence[Finding],
) -> Result:
    written = f"{FOLDER}/{report_name(1)}"
    if len(document["samples"]) > 1:
        written += f" and {len(document['samples']) - 1} more"
    summary = f"{written} written: {count_of(len(findings), 'finding')}"
    if problems:
        hint = f"the responses are in logs/{run.folder.name}"
        return Result(Outcome.NOT_REACHED, f"{'; '.join(problems)}; {summary}", document, hint)
    faults = [finding for finding in findings if finding.section != _COMMENTARY]
    if run.options.fail_on and faults:
        summary += f", {len(faults)} of them in the first {len(SECTIONS) - 1} sections"
        return Result(Outcome.NOT_REACHED, summary, document)
    return Result(Outcome.REACHED, summary, document)
