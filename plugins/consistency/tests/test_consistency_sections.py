"""Sections are found in all styles of headings, and no character of a report is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_commit_consistency.headings import SECTIONS
from code_commit_consistency.sections import SectionedReport, sectioned

STYLES = {
    "level one": "# {name}\n",
    "level two": "## {name}\n",
    "closed": "### {name} ###\n",
    "colon": "## {name}:\n",
    "numbered heading": "## {number}. {name}\n",
    "bold heading": "## **{number}. {name}**\n",
    "section heading": "# Section {number}: {name}\n",
    "underlined": "{name}\n======\n",
    "dashed": "{name}\n---\n",
    "numbered": "{number}. {name}\n",
    "numbered twice": "{number}.0 {name}\n",
    "parenthesis": "{number}) {name}\n",
    "in parentheses": "({number}) {name}\n",
    "roman": "{roman}. {name}\n",
    "letter": "{letter}. {name}\n",
    "section": "Section {number} \u2013 {name}\n",
    "number and dash": "{number} - {name}\n",
    "bold": "**{name}**\n",
    "bold colon": "**{name}:**\n",
    "colon after bold": "**{name}**:\n",
    "bold number": "**{number}. {name}**\n",
    "number and bold": "{number}. **{name}**\n",
    "underscores": "__{name}__\n",
    "italic": "*{name}*\n",
    "plus": "+ {name}\n",
    "dash": "- {name}\n",
    "star and bold": "* **{name}**\n",
    "plain": "{name}\n",
    "indented": "   {name}\n",
    "upper": "{upper}\n",
    "hyphen": "## {hyphened}\n",
    "ampersand": "## {ampersand}\n",
    "carriage return": "## {name}\r\n",
    "run in": "{name}: ",
    "bold run in": "**{name}:** ",
    "run in after bold": "**{name}**: ",
    "numbered run in": "{number}. **{name}** \u2014 ",
}


def heading_of(style: str, name: str) -> str:
    number = SECTIONS.index(name) + 1 if name in SECTIONS else 6
    return STYLES[style].format(
        name=name,
        number=number,
        roman=("I", "II", "III", "IV", "V", "VI")[number - 1],
        letter="ABCDEF"[number - 1],
        upper=name.upper(),
        hyphened=name.replace("Self Consistency", "Self-Consistency"),
        ampersand=name.replace(" and ", " & "),
    )


TITLES = st.sampled_from(SECTIONS)
LINES = st.one_of(
    st.builds(
        heading_of,
        st.sampled_from(sorted(STYLES)),
        TITLES | st.sampled_from(["Conclusion", "What Else There Is", "a", ""]),
    ),
    st.sampled_from(
        [
            "```\n",
            "~~~~\n",
            "----\n",
            "====\n",
            "\n",
            "    # code\n",
            "#",
            "**",
            "- ",
            "|a|b|\n",
            "\r",
        ]
    ),
    st.text(max_size=30),
)


def rejoined(report: SectionedReport) -> str:
    return report.preamble + "".join(section.heading + section.text for section in report.sections)


@given(st.lists(LINES).map("".join))
def test_no_character_is_lost(text: str) -> None:
    report = sectioned(text)
    assert rejoined(report) == text
    assert set(report.missing) == set(SECTIONS) - {section.name for section in report.sections}
    assert len(report.sections) == len(SECTIONS) - len(report.missing) + len(report.extra)


@pytest.mark.parametrize("style", STYLES)
def test_the_five_sections_are_found(style: str) -> None:
    texts = [f"Words about {number}.\nMore of them.\n\n" for number in range(5)]
    body = "".join(
        heading_of(style, name) + text for name, text in zip(SECTIONS, texts, strict=True)
    )
    report = sectioned("In short: fine.\n\n" + body)
    assert [section.name for section in report.sections] == list(SECTIONS)
    assert [section.text.lstrip("\r\n") for section in report.sections] == texts
    assert (report.preamble, report.missing, report.extra) == ("In short: fine.\n\n", (), ())


def test_a_report_without_headings_is_all_preamble() -> None:
    report = sectioned("All is well.\n\nTruly.\n")
    assert report == SectionedReport("All is well.\n\nTruly.\n", ())
    assert report.missing == SECTIONS


@pytest.mark.parametrize(
    "style",
    [
        style
        for style in STYLES
        if "run in" not in style and style not in {"hyphen", "ampersand", "upper"}
    ],
)
def test_an_unrequested_section_is_extra(style: str) -> None:
    names = [*SECTIONS[:2], "Security", *SECTIONS[2:4], "Closing Words for the Author"]
    report = sectioned("".join(f"\n{heading_of(style, name)}\nText.\n" for name in names))
    assert [section.name for section in report.sections] == names
    assert report.missing == (SECTIONS[4],)
    assert report.extra == ("Security", "Closing Words for the Author")


def test_all_sections_are_extra_if_none_was_requested() -> None:
    report = sectioned("# Contradictions\n\nNone.\n\n## Detail\n\n# Bugs\n\nOne.\n")
    assert (report.missing, report.extra) == (SECTIONS, ("Contradictions", "Bugs"))


def test_a_repeated_section_is_extra_and_is_kept() -> None:
    report = sectioned(
        f"## {SECTIONS[0]}\nOne.\n## {SECTIONS[1]}\nTwo.\n## {SECTIONS[0]}\nThree.\n"
    )
    assert [section.text for section in report.sections] == ["One.\n", "Two.\n", "Three.\n"]
    assert report.extra == (SECTIONS[0],)


def test_subsections_and_lists_stay_in_their_section() -> None:
    text = "### Naming\n\nBad.\n\n1. One\n2. Two\n\n**Note** this.\n\n**Files**\n\n- a\n\n"
    report = sectioned("".join(f"## {name}\n\n{text}" for name in SECTIONS))
    assert [section.text for section in report.sections] == ["\n" + text] * 5
    assert report.extra == ()


@pytest.mark.parametrize("style", ["level two", "bold", "plain"])
def test_paragraphs_and_lists_are_not_extra_sections(style: str) -> None:
    text = (
        "\nNone.\n\nSee main.py\n\n1. The first is wrong.\n2. Another Thing\n\nThe following holds:\n\n"
        "What of it?\n\n**Beware:** of this.\n\nThe file main.py, on the whole\n\n"
    )
    report = sectioned("".join(f"{heading_of(style, name)}{text}" for name in SECTIONS))
    assert report.extra == ()
    assert [section.text for section in report.sections] == [text] * 5


@pytest.mark.parametrize(
    "title", ["# Consistency Report\n\n", "# Consistency Report\n\nOf today.\n\n"]
)
@pytest.mark.parametrize(
    "contents", ["+ {}\n", "1. {}\n", "## {}\n", "{}\n", "- **{}**: what it is about\n"]
)
def test_a_title_and_a_table_of_contents_are_preamble(title: str, contents: str) -> None:
    preamble = title + "".join(contents.format(name) for name in SECTIONS) + "\n"
    body = "".join(f"## {name}\n\nFine.\n\n" for name in SECTIONS)
    report = sectioned(preamble + body)
    assert report.preamble == preamble
    assert (report.missing, report.extra) == ((), ())


def test_a_title_of_the_same_level_is_preamble_but_a_summary_is_a_section() -> None:
    body = "".join(f"## {name}\nFine.\n" for name in SECTIONS)
    assert sectioned("## Consistency Report\n\n" + body).preamble == "## Consistency Report\n\n"
    assert sectioned("## Summary\n\nFine.\n" + body).extra == ("Summary",)


def test_code_contains_no_headings() -> None:
    code = f"```sh\n# install it\n## {SECTIONS[1]}\n```\n    # run it\n"
    report = sectioned("".join(f"# {name}\n\n{code}" for name in SECTIONS[:1]))
    assert [section.name for section in report.sections] == [SECTIONS[0]]


def test_a_report_between_code_fences_has_its_sections() -> None:
    report = sectioned(
        "```markdown\n" + "".join(f"# {name}\nFine.\n" for name in SECTIONS) + "```\n"
    )
    assert (report.preamble, report.missing, report.extra) == ("```markdown\n", (), ())


def test_a_mention_is_not_a_section() -> None:
    mention = f"This belongs to\n{SECTIONS[4]}: see there.\n- {SECTIONS[3]}\n\n"
    report = sectioned("".join(f"## {name}\n\n{mention}" for name in SECTIONS))
    assert [section.text for section in report.sections] == ["\n" + mention] * 5


def test_an_empty_section_is_a_section() -> None:
    report = sectioned("".join(f"## {name}\n" for name in SECTIONS))
    assert [section.text for section in report.sections] == [""] * 5
    assert report.missing == ()
