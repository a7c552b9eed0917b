"""Thinking that leaked into the text is taken out wherever the text is cut, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_commit.models.leaked_thinking import ThinkingFilter, visible_text, without_thinking
from code_commit.plugin_api import Completion, Finish, Message, Opaque, Text, ToolCall, Usage

DRAFT = "^^^b.py\n^^^delete\nno, keep it\n"
BLOCK = "^^^a.py\nnew\n^^^end\n"
OTHER = "^^^c.py\nmore\n^^^end\n"
ANALYSIS, FINAL = "<|channel|>analysis<|message|>", "<|start|>assistant<|channel|>final<|message|>"


def fed(pieces: list[str]) -> str:
    """Return what a filter passes on, as one who watches the pieces gets it."""
    thinking, visible = ThinkingFilter(), ""
    for piece in pieces:
        added = thinking.feed(piece)
        visible = added if thinking.restarted else visible + added
    added = thinking.finish()
    return added if thinking.restarted else visible + added


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        (f"<think>\n{DRAFT}</think>\n{BLOCK}", BLOCK),
        (f"{DRAFT}</think>\n{BLOCK}", BLOCK),
        (f"{DRAFT}</think>\n\n\n{BLOCK}", BLOCK),
        (f"so I do it.</think>{BLOCK}", BLOCK),
        (f"so I do it. </think>\n{BLOCK}", BLOCK),
        (f"\n <THINK>hm</THINK> {BLOCK}", f"\n{BLOCK}"),
        (f"<thinking>hm</thinking>\n{BLOCK}", BLOCK),
        (f"<seed:think>hm</seed:think>{BLOCK}", BLOCK),
        (f"[THINK]hm[/THINK]{BLOCK}", BLOCK),
        (f"<think></think>\n\n{BLOCK}", BLOCK),
        (f"<think>a</think><think>b</think>{BLOCK}", BLOCK),
        (f"<think>a<think>b</think>{DRAFT}</think>{BLOCK}", BLOCK),
        (f"<think>\nend = '</think>'\n{DRAFT}</think>\n{BLOCK}", BLOCK),
        (f"{BLOCK}<think>\n{DRAFT}</think>\n{OTHER}", f"{BLOCK}\n{OTHER}"),
        (f"I change it.\n<think>\n{DRAFT}</think>\n{BLOCK}", f"I change it.\n\n{BLOCK}"),
        (f"{ANALYSIS}\n{DRAFT}<|end|>{FINAL}{BLOCK}", BLOCK),
        (f"{ANALYSIS}\n{DRAFT}<|end|>{FINAL}{BLOCK.rstrip()}<|return|>", BLOCK.rstrip()),
        (f"{ANALYSIS}\n{DRAFT}<|end|>{FINAL}{BLOCK.rstrip()}<|return|>\n", BLOCK),
        (f"{ANALYSIS}hm<|end|>\n{BLOCK}", BLOCK),
        (
            f"{ANALYSIS}hm<|end|><|start|>assistant<|channel|>commentary to=x<|message|>ho<|end|>{FINAL}Hi",
            "Hi",
        ),
        (f"hm\n{DRAFT}<|end|>{FINAL}{BLOCK}", BLOCK),
        (f"<|channel|>final<|message|>{BLOCK}", BLOCK),
        (f"<think>\n{BLOCK}", ""),
        (f"{BLOCK}<think>\n{DRAFT}", BLOCK),
        (f"^^^a.py\n^^^delete\n{DRAFT}</think>\n{BLOCK}", BLOCK),
        (f"<think >\n{DRAFT}</think >\n{BLOCK}", BLOCK),
        (f"<mm:think>\n{DRAFT}</mm:think>\n{BLOCK}", BLOCK),
        (f"<|START_THINKING|>\n{DRAFT}<|END_THINKING|>{BLOCK}", BLOCK),
        (f"◁think▷\n{DRAFT}◁/think▷\n{BLOCK}", BLOCK),
        (f"<|begin_of_thought|>\n{DRAFT}<|end_of_thought|>\n{BLOCK}", BLOCK),
        (f"<thoughts>\n{DRAFT}</thoughts>\n{BLOCK}", BLOCK),
        (f"<analysis>So </think>\n{DRAFT}</analysis>\n{BLOCK}", BLOCK),
        (f"\n<reflection>\n{DRAFT}</reflection>\n{BLOCK}", f"\n{BLOCK}"),
        (f"<scratchpad>{DRAFT}</scratchpad>{BLOCK}", BLOCK),
        (f"analysisWe delete it.\n{DRAFT}assistantfinal{BLOCK}", BLOCK),
        (f"analysis\n{DRAFT}Do it.assistantfinal\n{BLOCK}", BLOCK),
        (f"Okay. <think>\n{DRAFT}</think>\n{BLOCK}", BLOCK),
        (f"so I do it.</think>Here it is:\n{BLOCK}", f"Here it is:\n{BLOCK}"),
        (f"{DRAFT}</think>Here it is:\n{BLOCK}", f"Here it is:\n{BLOCK}"),
        (f"```x``` and\n{DRAFT}</think>\n{BLOCK}", BLOCK),
        (f"````\n```\n````\n{DRAFT}</think>\n{BLOCK}", BLOCK),
    ],
)
def test_thinking_is_taken_out(text, visible):
    assert visible_text(text) == visible
    for size in (1, 2, 7):
        assert fed([text[at : at + size] for at in range(0, len(text), size)]) == visible


@pytest.mark.parametrize(
    "text",
    [
        BLOCK,
        "^^^parse.py\n<think>\nx\n</think>\n^^^end\n",
        "^^^parse.py\n</think>\n^^^end\nand\n" + BLOCK,
        f"^^^parse.py\n{ANALYSIS}hm<|end|>{FINAL}\n^^^end\n",
        "\ufeff^^^parse.py\n<think>\n^^^end\n",
        "^^^a.md\nTitle\n^^^^^\n</think>\n^^^end\r\n",
        "^^^b.py\nan open draft\n</think>\n" + BLOCK,  # a draft or a file? The format refuses it
        "Close it with `</think>`, '</think>' or the </think> tag.\n",
        'const end = "</think>";\n',
        "Parse `<think>` at the beginning.\n",
        "```ts\n<think>\nx\n</think>\n```\n" + BLOCK,
        "a < b and [x](y) <b>\n" + BLOCK,
        "The word think, <thinker> and <|endoftext|>\n",
        f"{BLOCK}It strips <think>...</think> blocks.\n{OTHER}",
        f"{BLOCK}<b><reasoning>why</reasoning></b>\n{OTHER}",
        f"{BLOCK}It ends (</think>), **</think>** or |</think>| there.\n{OTHER}",
        f"{BLOCK}The thought ends after the </think> tag.\n{OTHER}",
        "1. one\n2. <think>x</think>\n3. three\n",
        "It ends with </think>\nand goes on.\n",
        f"{BLOCK}~~~\n<think>\n</think>\n~~~\n{OTHER}",
        f"{BLOCK}````md\n```\n<think>\n</think>\n```\n````\n{OTHER}",
        f"I read it.\n<analysis>\nx\n</analysis>\n{BLOCK}",
        f"An <analysis> of it.\n{BLOCK}",
        f"analysis of it:\n{BLOCK}",
        f"I write analysis and assistantfinal.\n{BLOCK}",
    ],
)
def test_text_about_thinking_stays(text):
    assert visible_text(text) == text
    assert fed(list(text)) == text


UNCLEAR = [
    f"{BLOCK}It ends with </think>\n{OTHER}",
    f"{BLOCK}so I do it.</think>\n{OTHER}",
    f"{BLOCK}</think>\n",
    f"^^^b.py\nopen\n</think>{BLOCK}",
    f"{BLOCK}</think> ends it.\n{OTHER}",
    f"{BLOCK}It begins with <think>\nand ends with\n</think>\n{OTHER}",
    f"First idea:\n```\nfoo\n{DRAFT}</think>\n{BLOCK}",
    f"First idea:\n```\nfoo\n<think>\n{DRAFT}</think>\n{BLOCK}",
    f"````\n```\n{DRAFT}</think>\n{BLOCK}",
    f"Okay. <think>\n{DRAFT}",
    f"Okay. <think>\n```\nx\n```\n{DRAFT}",
    f"Sure:\n<analysis>\n{DRAFT}</analysis>\n{BLOCK}",
    f"{DRAFT}</analysis>\n{BLOCK}",
    f"analysisWe delete it.\n```\nx\n```\n{DRAFT}",
    f"analysisI write assistantfinal then.\n{DRAFT}assistantfinal{BLOCK}",
    f"analysisHm.\n^^^b.py\nopen\nassistantfinal{BLOCK}",
    f"analysis of it:\n{BLOCK}It says assistantfinal there.\n{OTHER}",
]


@pytest.mark.parametrize("text", UNCLEAR)
def test_a_reply_is_cut_if_a_block_may_be_a_draft_or_the_answer(text):
    cut = without_thinking(completion(Text(text)))
    assert cut.finish is Finish.CUT
    assert cut.finish_detail == "thinking that cannot be told from the answer"
    for size in (1, 2, 7):
        assert fed([text[at : at + size] for at in range(0, len(text), size)]) == cut.text


PIECES = [
    *(
        "<think >",
        "<analysis>",
        "</analysis>",
        "◁think▷",
        "◁/think▷",
        "analysis",
        "assistantfinal",
        "A",
        "````\n",
        "~~~\n",
        "<think>",
        "</think>",
        "<thinking>",
        "[THINK]",
        "[/THINK]",
        "`</think>`",
        ANALYSIS,
        FINAL,
        "<|end|>",
        "<|return|>",
    ),
    *(
        "^^^a.py\n",
        "^^^end\n",
        "^^^delete\n",
        "^^^^\n",
        "```\n",
        "\n",
        " ",
        "\r\n",
        "word",
        "<",
        "[",
        "</thi",
        "\ufeff",
    ),
]


@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join), st.data())
def test_where_the_text_is_cut_does_not_matter(text, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert fed(pieces) == visible_text(text) == fed(list(text))


@given(
    st.lists(
        st.sampled_from(
            ["x\n", "<b>\n", "[y]\n", "^^^a.py\n", "^^^end\n", "```\n", "`<think>`\n", "\n"]
        )
    ).map("".join)
)
def test_text_without_tags_is_the_same(text):
    assert visible_text(text) == text


@given(
    st.lists(
        st.sampled_from(["x\n", "^^^b.py\n^^^delete\n", "^^^b.py\nx\n^^^end\n", "```\nx\n```\n"]),
        max_size=9,
    ).map("".join),
    st.sampled_from(["<think>\n", ""]),
)
def test_no_draft_survives(draft, beginning):
    assert visible_text(f"{beginning}{draft}</think>\n{BLOCK}") == BLOCK


@given(
    st.lists(
        st.sampled_from(
            [
                "<think>\n",
                "</think>\n",
                "x</think>\n",
                f"{ANALYSIS}\n",
                f"{FINAL}\n",
                "```\n",
                "^^^^\n",
            ]
        )
    ).map("".join)
)
def test_a_file_about_thinking_stays_whole(content):
    text = f"I write it.\n^^^parse.py\n{content}^^^end\n"
    assert visible_text(text) == text


@pytest.mark.parametrize(
    "text",
    [
        *(
            "<think></think>" * 50_000,
            "</think>" * 100_000,
            "a </think> b " * 50_000,
            "<think>\n" * 50_000,
        ),
        *(
            "<|channel|>final " * 50_000,
            "<think>" + " </think>'" * 50_000,
            " " * 500_000 + "</think>",
            "[/THINK] " * 50_000,
            "analysisA" + "assistantfinal " * 50_000,
            "analysis " * 50_000,
            " " * 500_000 + "</think>'" * 50_000,
            BLOCK + "```\n" + "x </think>\n" * 20_000 + "<think> </think> " * 50_000,
            BLOCK + "so.</think>" * 50_000,
        ),
    ],
    ids=range(13),
)
def test_much_text_takes_linear_time(text):
    fed([text[at : at + 50] for at in range(0, len(text), 50)])  # quadratic time would be minutes


def completion(*parts: object, finish: Finish = Finish.STOP) -> Completion:
    return Completion(Message("assistant", parts), finish, "stop", Usage(), "m-1", {})  # type: ignore[arg-type]


def test_other_parts_stay_in_their_places():
    call, opaque = ToolCall("1", "read", {}), Opaque("x", {})
    parts = (opaque, Text("hm\n</think>\n"), call, Text("I see.", cache_here=True))
    assert without_thinking(completion(*parts)).message.parts == (
        opaque,
        call,
        Text("I see.", cache_here=True),
    )
    whole = completion(opaque, Text("I see."), call)
    assert without_thinking(whole) is whole


def test_thinking_over_several_parts():
    parts = (Text("<think>a"), Text("b</think>I "), Text("see."))
    assert without_thinking(completion(*parts)).text == "I see."


@pytest.mark.parametrize("finish", [Finish.STOP, Finish.LENGTH, Finish.REFUSED])
def test_thinking_without_an_end_is_a_cut_reply(finish):
    cut = without_thinking(completion(Text(f"<think>\n{BLOCK}"), finish=finish))
    assert cut.text == ""
    assert cut.finish is (Finish.CUT if finish is Finish.STOP else finish)
