"""The workflow: one function, from the files to the result."""

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


def run(run: Run) -> Result:
    """Let a model summarize a file, and print the summary.

    Raises:
        NotReady: there is no such file, or no model may read it.
        ResponseRefused: the summary is incomplete.
    """
    path: str = run.options.new_name
    if refusal := run.may_read(path):
        raise NotReady(f"a model may not read {path}: {refusal.reason}")
    content = read_text(run.tree, path)
    if content is None:
        raise NotReady(f"there is no file {path}", hint="use a path relative to the project")
    prompt = f"Summarize in at most {run.options.new_name_words} words.\n\n[{path}]\n{content}"
    request = Request((Message("user", (Text(prompt),)),))
    completion = run.model().complete(request, label="summary")
    if completion.finish is not Finish.STOP:
        raise ResponseRefused(f"the summary is incomplete: it ended with {completion.finish_detail}")
    run.say(completion.text)
    return Result(Outcome.REACHED, f"{path} is summarized", {"path": path})
