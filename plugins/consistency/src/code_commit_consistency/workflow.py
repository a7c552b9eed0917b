"""The consistency workflow: one report, or several at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial

from code_commit.plugin_api import (
    CodeCommitError,
    Completion,
    Finish,
    Json,
    Message,
    MessageLogged,
    Model,
    Outcome,
    PromptPart,
    PromptSize,
    Request,
    ResponseRefused,
    Result,
    Run,
    Text,
    count_of,
    run_concurrently,
)
from code_commit_consistency.headings import SECTIONS
from code_commit_consistency.prompt import (
    codebase_warnings,
    consistency_prompt,
    prompt_parts,
    read_codebase,
    read_query,
    require_files_fit,
)
from code_commit_consistency.report_files import FOLDER, publish, report_name, require_room
from code_commit_consistency.sections import sectioned
from code_commit_consistency.wrapping import wrapped


def report(run: Run) -> Result:
    """Request `samples` reports, write them, and print them wrapped.

    If any of them is incomplete, the reports of an earlier run stay; the new responses are only in
    the run folder.

    Raises:
        NotReady: there is no code rollup, the prompt exceeds the model's window, or the report
            cannot be written.
        ResponseRefused: a report is empty or incomplete, or has none of the sections.
    """
    model = run.model()
    count = run.options.samples
    request, parts = _request(run, model)
    model.require_fit(PromptSize.of(request, parts))
    require_room(run.root, count)
    ask = partial(model.complete, request, parts=parts)
    calls = [partial(_sample, run, ask, number, count) for number in range(1, count + 1)]
    completions = _require_all(run_concurrently(calls), run)
    samples = [_described(completion, number) for number, completion in enumerate(completions, 1)]
    document = {"version": 1, "run": run.folder.name, "model": model.name, "samples": samples}
    publish(run.root, [completion.text for completion in completions], document, run.folder.name)
    _warn(run, samples)
    _show(run, completions)
    written = f"{FOLDER}/{report_name(1)}"
    if count > 1:
        written += f" and {count - 1} more"
    return Result(Outcome.REACHED, f"{written} written", document)


def _request(run: Run, model: Model) -> tuple[Request, tuple[PromptPart, ...]]:
    """Return the request for a report, and the parts of its prompt."""
    require_files_fit(run.tree, model)
    codebase = read_codebase(run.tree)
    for warning in codebase_warnings(run.tree, codebase):
        run.emit(MessageLogged(warning, level="warning"))
    query = read_query(run.tree)
    prompt = Text(consistency_prompt(query, codebase))
    return Request((Message("user", (prompt,)),)), prompt_parts(query, codebase)


def _sample(run: Run, ask: Callable[..., Completion], number: int, count: int) -> Completion:
    # The host's label of a repeated call, so that report and call have the same number.
    label = "query" if number == 1 else f"query-{number}"
    with run.span("consistency.sample", number=number):
        completion = ask(label=label)
        which = "the report" if count == 1 else f"report {number} of {count}"
        hint = f"the response is in logs/{run.folder.name}/{label}-response.txt"
        if completion.finish is not Finish.STOP:
            raise ResponseRefused(f"{which} is incomplete: {completion.ending}", hint=hint)
        if not completion.text.strip():
            raise ResponseRefused(f"{which} is empty", hint="try again, or use another model")
        if len(sectioned(completion.text).missing) == len(SECTIONS):
            raise ResponseRefused(f"{which} has none of the {len(SECTIONS)} sections", hint=hint)
    return completion


def _require_all(results: Sequence[Completion | BaseException], run: Run) -> list[Completion]:
    completions: list[Completion] = []
    errors: list[BaseException] = []
    for number, result in enumerate(results, 1):
        if not isinstance(result, BaseException):
            completions.append(result)
            continue
        errors.append(result)
        if len(results) > 1:
            run.emit(MessageLogged(f"sample {number} failed: {result}", level="error"))
    if errors:
        # Raise a bug before an expected failure.
        raise min(errors, key=lambda error: isinstance(error, CodeCommitError))
    return completions


def _described(completion: Completion, number: int) -> Json:
    report = sectioned(completion.text)
    return {
        "report": report_name(number),
        "model": completion.model,
        "preamble": report.preamble,
        "sections": [asdict(section) for section in report.sections],
        "missing": list(report.missing),
        "extra": list(report.extra),
    }


def _warn(run: Run, samples: Sequence[Json]) -> None:
    for sample in samples:
        for difference in ("missing", "extra"):
            names = sample[difference]
            if names:
                sections = count_of(len(names), f"{difference} section")
                text = f"{FOLDER}/{sample['report']}: {sections}: {', '.join(names)}"
                run.emit(MessageLogged(text, level="warning"))


def _show(run: Run, completions: Sequence[Completion]) -> None:
    if len(completions) == 1:
        run.say(wrapped(completions[0].text))
        return
    for number, completion in enumerate(completions, 1):
        title = f"--- {FOLDER}/{report_name(number)} ---\n\n"
        if number > 1:
            title = "\n" + title
        run.say(title + wrapped(completion.text))
