"""The pages of this checkout as a site. `make docs` builds it into build/docs.

Sources are the Markdown files in their folders, so every link that works in the checkout works on the site. What the
site shows beside the pages is made of docs/index.md: each of its headings is a part of the navigation.
"""

from __future__ import annotations

import importlib.metadata
import posixpath
import re

from sphinx.application import Sphinx

project = "code-commit"
author = "the authors of code-commit"
version = release = importlib.metadata.version("code-commit")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
root_doc = "docs/index"
include_patterns = [
    "*.md",
    "docs/*.md",
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
_TITLED = re.compile(r"^(?P<fence>`{3,})(?P<language>\w+) title=\"(?P<title>[^\"]+)\"$", re.MULTILINE)


def navigation(index: str) -> str:
    """Return a hidden table of contents for each list of links below a heading of docs/index.md."""
    parts = []
    for part in _PART.finditer(index):
        entries = [
            f"{each['title']} </{posixpath.normpath('docs/' + each['page'])}>"
            for each in _ENTRY.finditer(part["entries"])
        ]
        parts.append("\n".join(["```{toctree}", ":hidden:", f":caption: {part['title']}", "", *entries, "```", ""]))
    return "\n".join(parts)


def prepare(_app: Sphinx, page: str, content: list[str]) -> None:
    """Show the names of files above their content; give the first page the navigation."""
    content[0] = _TITLED.sub(r"\g<fence>{code-block} \g<language>\n:caption: `\g<title>`\n", content[0])
    if page == root_doc:
        content[0] += "\n" + navigation(content[0])


def mark_code(_app: Sphinx, _what: str, _name: str, _object: object, _options: object, lines: list[str]) -> None:
    """Mark the indented blocks of a docstring as code."""
    for number in range(len(lines) - 1, 1, -1):
        starts_block = lines[number].startswith("    ") and not lines[number - 1].strip()
        if starts_block and not lines[number - 2].startswith((" ", ":")):
            lines[number:number] = ["::", ""]


def setup(app: Sphinx) -> dict[str, bool]:
    """Hook into the reading of pages and docstrings."""
    app.connect("autodoc-process-docstring", mark_code)
    app.connect("source-read", prepare)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
