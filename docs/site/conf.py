"""The pages of this checkout as a site. `make docs` builds it into build/docs.

Sources are the Markdown files in their folders, so every link that works in the checkout works on
the site. What the site shows beside the pages is made of docs/index.md: each of its headings is a
part of the navigation.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import pkgutil
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer

project = "code-commit"
author = "the authors of code-commit"
version = release = importlib.metadata.version("code-commit")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
root_doc = "docs/index"
include_patterns = [
    "*.md",
    "docs/*.md",
    "docs/how-to/*.md",
    "docs/plugins/*.md",
    "core/README.md",
    "testing/README.md",
    "workspace/README.md",
    "plugins/*/README.md",
    "examples/README.md",
]
exclude_patterns = [".tox", ".venv", "build", "**/node_modules"]

myst_heading_anchors = 6  # the anchors that forges give to headings
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
copybutton_line_continuation_character = "\\"

# The generated reference. A docstring's single backticks are code.
default_role = "code"
autodoc_default_options = {"members": True, "undoc-members": True, "member-order": "bysource"}
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
add_module_names = False
nitpick_ignore_regex = [("py:.*", ".*")]  # types of Python, and those that are no public name

html_theme = "furo"
html_title = f"code-commit {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_additional_pages = {"index": "to_docs.html"}
templates_path = ["templates"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False

_PART = re.compile(r"^## (?P<title>.+)\n\n(?P<entries>(?:(?:- |  ).*\n)+)", re.MULTILINE)
_ENTRY = re.compile(r"^- \[(?P<title>[^\]]+)\]\((?P<page>[^)]+)\.md\)", re.MULTILINE)
_TITLED = re.compile(
    r"^(?P<fence>`{3,})(?P<language>\w+) title=\"(?P<title>[^\"]+)\"$", re.MULTILINE
)
_TABLE = re.compile(r"<table.*?</table>", re.DOTALL)
_HEAD = re.compile(r"<th\b[^>]*>(.*?)</th>", re.DOTALL)
_ROW = re.compile(r"<tr\b.*?</tr>", re.DOTALL)
_CELL = re.compile(r"<td\b")
_HEADER_LINK = re.compile(r'<a class="headerlink".*?</a>')
_BLOCK = re.compile(r"</?(?:p|li|td|h\d|pre)\b[^>]*>")
# The search looks for the anchors of the others.
_INLINE = re.compile(r"<(?!/?(?:section|dl|dt|dd)\b)[^>]+>")
_TAG = re.compile(r"<[^>]+>")


def navigation(index: str) -> str:
    """Return a hidden table of contents for each list of links below a heading of docs/index.md."""
    parts = []
    for part in _PART.finditer(index):
        entries = [
            f"{entry['title']} </{posixpath.normpath('docs/' + entry['page'])}>"
            for entry in _ENTRY.finditer(part["entries"])
        ]
        parts.append(
            "\n".join(
                ["```{toctree}", ":hidden:", f":caption: {part['title']}", "", *entries, "```", ""]
            )
        )
    return "\n".join(parts)


def prepare(_app: Sphinx, page: str, content: list[str]) -> None:
    """Show the names of files above their content; give the first page the navigation."""
    content[0] = _TITLED.sub(
        r"\g<fence>{code-block} \g<language>\n:caption: `\g<title>`\n", content[0]
    )
    if page == root_doc:
        content[0] += "\n" + navigation(content[0])


def mark_code(
    _app: Sphinx, _what: str, _name: str, _object: object, _options: object, lines: list[str]
) -> None:
    """Mark the indented blocks of a docstring as code."""
    for number in range(len(lines) - 1, 1, -1):
        starts_block = lines[number].startswith("    ") and not lines[number - 1].strip()
        if starts_block and not lines[number - 2].startswith((" ", ":")):
            lines[number:number] = ["::", ""]


def describe_data(
    _app: Sphinx, what: str, name: str, _object: object, _options: object, lines: list[str]
) -> None:
    """Give a type alias or constant the text at its definition.

    Autodoc looks for it where the name is exported, and else shows the docstring of `str` or `int`.
    """
    package, _, exported = name.rpartition(".")
    if what != "data":
        return
    folder = Path(str(importlib.import_module(package).__file__)).parent
    for module in pkgutil.iter_modules([str(folder)], f"{package}."):
        if text := ModuleAnalyzer.for_module(module.name).find_attr_docs().get(("", exported)):
            lines[:] = text


def label_cells(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: object
) -> None:
    """Give each cell of a table the title of its column: a narrow screen shows the cells below each
    other.
    """

    def labelled_row(row: str, titles: Iterator[str]) -> str:
        return _CELL.sub(lambda _: f'<td data-title="{next(titles, "")}"', row)

    def labelled(table: re.Match[str]) -> str:
        titles = [_TAG.sub("", head).strip() for head in _HEAD.findall(table[0])]
        return _ROW.sub(lambda row: labelled_row(row[0], iter(titles)), table[0])

    if "body" in context:
        context["body"] = _TABLE.sub(labelled, context["body"])
    if page == "search":
        app.add_js_file("search_from_files.js")


def write_excerpts(app: Sphinx, error: Exception | None) -> None:
    """Write the text of all pages into a script, for a search in a site that no server serves."""
    if error or app.builder.format != "html":
        return
    site, pages = Path(app.outdir), {}
    for page in sorted(app.env.found_docs):
        html = (site / f"{page}.html").read_text("utf-8")
        main = (
            html.partition('<article role="main"')[2].partition(">")[2].partition("</article>")[0]
        )
        text = _INLINE.sub("", _BLOCK.sub(" ", _HEADER_LINK.sub("", main)))
        pages[f"{page}.html"] = f'<article role="main">{text}</article>'
    (site / "_static" / "search_texts.js").write_text(
        f"searchTexts({json.dumps(pages)});\n", "utf-8"
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Hook into the reading of pages and docstrings."""
    app.connect("autodoc-process-docstring", describe_data)
    app.connect("autodoc-process-docstring", mark_code)
    app.connect("source-read", prepare)
    app.connect("html-page-context", label_cells)
    app.connect("build-finished", write_excerpts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
