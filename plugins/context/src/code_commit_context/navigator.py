"""The context `map`: a model sees a map of the files, and names those to look at."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

from code_commit.plugin_api import Message, NotReady, PromptPart, Request, Text, count_of
from code_commit_context import ranked
from code_commit_context.filling import Filling, map_line
from code_commit_context.ranking import Ranking

if TYPE_CHECKING:
    from code_commit.plugin_api import Model
    from code_commit_commit.hooks import ContextRequest, Selection

ROLE, LABEL = "navigator", "navigator-query"
BEGIN, END = "%%%files", "%%%end"
_LARGEST_MAP = 32_000  # tokens
_PROMPT = f"""\
You help to change a codebase. Below are a request for a change, and a map of the files in the
codebase. Each line of the map has the path of a file, and names that the file defines.

Choose the files that somebody must read or edit to make this change. Include tests of the code
that changes. Put the most important files first. Choose at most 30 files, and only files that are
in the map. Do not make the change. Answer with their paths, one on each line, in exactly this form:

{BEGIN}
path/of/the/most/important/file
path/of/the/next/file
{END}

"""


def choose(request: ContextRequest, ranking: Ranking) -> Selection:
    """Choose the files that a model names, then those that `ranked` chooses.

    Raises:
        NotReady: there is no model.
    """
    if request.model is None:
        raise NotReady(
            "the context map asks a model, and this command makes no call",
            hint="use the context ranked instead",
        )
    if not ranking.paths:
        return ranked.choose(request, ranking)
    chosen, size = _ask(request, request.model(ROLE), ranking)
    selection = ranked.choose(request, ranking, chosen)
    source = f"from a map of {count_of(size, 'file')}"
    beginning = f"the {ROLE} chose {count_of(len(chosen), 'file')} {source}, then"
    if not chosen:
        beginning = f"the {ROLE} named no file {source}, so"
    return replace(selection, reason=f"{beginning} {selection.reason}")


def _ask(request: ContextRequest, model: Model, ranking: Ranking) -> tuple[list[str], int]:
    """Return the files that `model` chooses from a map, and how many the map has."""
    limit = min(request.tokens, _LARGEST_MAP, (model.window or 2 * _LARGEST_MAP) // 2)
    filling = Filling(request.project.tree, ranking.sizes, limit)
    filling.add_to_map(ranking.paths)
    lines = "".join(map_line(path, names) for path, names in filling.map.items())
    query = f"[request]\n{request.query.rstrip()}\n\n"
    parts = (PromptPart.of("the query", query), PromptPart.of("the map", lines))
    text = f"{_PROMPT}{query}[map]\n{lines}"
    message = Message("user", (Text(text),))
    completion = model.complete(Request((message,)), label=LABEL, parts=parts)
    return files_in(completion.text, filling.map), len(filling.map)


def files_in(answer: str, offered: Container[str]) -> list[str]:
    """Return the files of a list in `answer` that are `offered`, in its order."""
    lines = iter(answer.splitlines())
    if not any(line.strip() == BEGIN for line in lines):
        return []
    listed = [line.strip() for line in takewhile(lambda line: line.strip() != END, lines)]
    paths = [line.removeprefix("./") for line in listed]
    return list(dict.fromkeys(path for path in paths if path in offered))
