"""Explains a file."""

from __future__ import annotations

from code_commit.plugin_api import (
    Finish,
    Message,
    NotReady,
    Outcome,
    Request,
    ResponseRefused,
    Result,
    Run,
    Text,
    read_text,
)


def explain(run: Run) -> Result:
    """Let a model explain the file that `--explain` names, and print the explanation.

    Raises:
        NotReady: there is no such file, or no model may read it.
        ResponseRefused: the explanation is incomplete.
    """
    path = run.options.explain
    prompt = _prompt(path, _read(run, path), run.options.words)
    request = Request((Message("user", (Text(prompt),)),))
    completion = run.model("explainer").complete(request, label="explain")
    if completion.finish is not Finish.STOP:
        raise ResponseRefused(
            f"the explanation is incomplete: it ended with `{completion.finish_detail}`"
        )
    run.say(completion.text)
    return Result(Outcome.REACHED, f"{path} is explained", {"path": path, "text": completion.text})


def _read(run: Run, path: str) -> str:
    if refusal := run.may_read(path):
        raise NotReady(f"a model may not read {path}: {refusal.reason}")
    text = read_text(run.tree, path)
    if text is None:
        raise NotReady(
            f"there is no file {path}", hint="use a path relative to the root of the project"
        )
    return text


def _prompt(path: str, content: str, words: int) -> str:
    return f"Explain this file in at most {words} words.\n\n[{path}]\n{content}"
