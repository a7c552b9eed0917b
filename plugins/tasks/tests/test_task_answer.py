"""The one block of TypeScript in a reply."""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_commit_tasks.answer import LONGEST_CODE, MalformedAnswer, code_of

CODE = "async function agent_code() {\n  return '`';\n}\n"
LINES = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r`~")), max_size=8
)


@pytest.mark.parametrize(
    "reply",
    [
        f"```typescript\n{CODE}```",
        f"```ts\n{CODE}```\n",
        f"```TypeScript title=x\n{CODE}```\n",
        f"Here it is:\n\n```typescript\r\n{CODE}```\r\nAnd this runs it:\n```bash\ndeno run\n```\n",
        f"~~~typescript\n{CODE}~~~~\n",
        f"  ```typescript\n{CODE}  ```\n",
        f"````typescript\n{CODE}````\n",
        f"```\n{CODE}```",
        f"Here:\n```javascript\n{CODE}```\n",
    ],
)
def test_the_block_is_found(reply: str) -> None:
    assert code_of(reply) == CODE


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "has no TypeScript code block"),
        (CODE, "has no TypeScript code block"),
        (f"```\n{CODE}```\n```\n{CODE}```", "has no TypeScript code block"),
        (f"```python\n{CODE}```", "has no TypeScript code block"),
        (f"```markdown\n```typescript\n{CODE}", "has no TypeScript code block"),
        (f"```typescript\n{CODE}", "no closing line"),
        (f"````typescript\n{CODE}```\n", "no closing line"),
        (f"```typescript\n{CODE}```\n```ts\n{CODE}```\n", "has 2 TypeScript code blocks"),
        (f"```typescript\n{'x' * LONGEST_CODE}\n```\n", "longer than"),
    ],
)
def test_other_replies_are_malformed(reply: str, reason: str) -> None:
    with pytest.raises(MalformedAnswer, match=reason):
        code_of(reply)


@given(LINES, LINES, LINES)
def test_the_code_is_unchanged(before: list[str], code: list[str], after: list[str]) -> None:
    block = "".join(f"{line}\n" for line in code)
    reply = "\n".join([*before, f"```typescript\n{block}```", *after])
    assert code_of(reply) == (block or "\n")


WORDS = st.text("ab` '\"/*{}$=(\\", max_size=6)
FENCES = st.sampled_from(["```", "```sh", "  ```", "````"])


@given(st.lists(WORDS | FENCES, max_size=6), st.sampled_from(["```", "````"]))
def test_fences_in_a_template_literal_are_its_text(text: list[str], fence: str) -> None:
    """What stands before and after the literal is as it was, and so is what the literal means."""
    written = [
        line if line.lstrip(" ").startswith("```") else re.sub(r"[`$\\]", r"\\\g<0>", line)
        for line in text
    ]
    before = "const quoted = [/`/, '`', \"`\"]; // `\n/* `\n*/ const text = `\n"
    literal = "\n".join([*written, ""])
    after = "${[{ a: `b` }]}`;\n"
    code = code_of(f"```typescript\n{before}{literal}{after}```\nIt's `done`.\n")
    assert code.startswith(before)
    assert code.endswith(after)
    body = code.removeprefix(before).removesuffix(after)
    assert not re.search(r"(?<!\\)(?:\\\\)*`", body)
    assert re.sub(r"\\(.)", r"\1", body) == "\n".join([*text, ""])


@pytest.mark.parametrize(
    "lines",
    [
        ["```ts", "`"] * 30_000,
        ["```ts", *["(/["] * 30_000, "(/[" * 30_000, "'\\'" * 30_000, "```"],
        ["```", "```"] * 50_000,
    ],
    ids=["literals", "expressions", "blocks"],
)
def test_a_long_reply_is_read_in_linear_time(lines: list[str]) -> None:
    with contextlib.suppress(MalformedAnswer):
        code_of("\n".join(lines))


@given(
    st.lists(
        st.sampled_from(["```", "```typescript", "````", "~~~", "text", "", "  ```"]), max_size=12
    )
)
def test_any_reply_is_an_answer_or_malformed(lines: list[str]) -> None:
    try:
        code = code_of("\n".join(lines))
    except MalformedAnswer:
        return
    opened = [f"{fence}\n{code}" for fence in ("```typescript", "```", "````", "~~~")]
    assert any(block in "\n".join(lines) + "\n" for block in opened) or not code.strip()
