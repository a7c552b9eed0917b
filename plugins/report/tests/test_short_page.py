"""What a run leaves itself: a short page, and a line in the list of all runs."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from code_commit_testing import install_plugin

GOOD = "^^^a.txt\ngood\n^^^end\n"
EVIL = "</title></pre><script>document.title='owned'</script>\u202e"
MODULES = """
import sys
from pathlib import Path

from code_commit.plugin_api import hookimpl


class Modules:
    def receive(self, record):
        if record.kind == "run.started":
            self.folder = Path(record.data["root"], record.data["folder"])

    def close(self):
        (self.folder / "modules.txt").write_text("\\n".join(sys.modules))


@hookimpl
def code_commit_log_sinks(settings):
    return [Modules()]
"""


class Links(HTMLParser):
    """The links and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        assert tag not in {"script", "img", "link"}
        if tag == "a":
            self.links.append(dict(attrs)["href"])

    def handle_data(self, data):
        self.text += data


def test_a_run_leaves_a_page_with_its_diff_and_its_files(answered):
    reply = f"^^^a.txt\ngood {EVIL}\n^^^end\n"
    assert answered(reply, arguments=("--query", f"Say {EVIL}")).exit_code == 0
    assert "\u202e" not in answered.short_page
    page = Links(answered.short_page)
    for words in (
        "reached",
        "Say </title>",
        "the build passes",
        "-old",
        "+good </title>",
        "\\u202e",
    ):
        assert words in page.text, words
    assert f"code-commit runs open {answered.project.run_folder.name}" in page.text
    files = [link for link in page.links if link.startswith("./")]
    assert {"./events.jsonl", "./1-initial-query.txt", "./1-build.txt"} <= set(files)
    assert all((answered.project.run_folder / link).is_file() for link in files)


def test_the_whole_page_is_made_at_the_end_of_a_run_if_wanted(answered):
    answered(GOOD, settings="[plugins.html]\nwhole = true\n")
    assert 'id="timeline"' in answered.short_page
    assert "short page" not in answered.short_page


def test_a_run_loads_no_template_engine_no_colors_and_no_view(answered):
    module = install_plugin(answered.plugins, "zmodules", MODULES)
    answered(GOOD, arguments=("--version",))
    finished = answered.project.command(
        plugins=[answered.plugins, module], environ={"CODE_COMMIT_SANDBOX": "off"}, cold=True
    )
    assert finished.exit_code == 0, finished.stderr
    modules = (answered.project.run_folder / "modules.txt").read_text().split()
    assert "code_commit_report.short_page" in modules
    unwanted = {"jinja2", "pygments", "code_commit_report.run_view", "code_commit_report.page"}
    assert not unwanted & set(modules)


def test_a_run_appends_to_the_list_and_reads_no_earlier_run(answered):
    answered.project.write({"logs/2020-01-01-00-00-00-odd/run.json": "{}"})
    answered(GOOD, arguments=("--query", "The first one"))
    first = answered.appended_index
    answered("no block", arguments=("--repairs", "0", "--query", "The second one"))
    both = answered.appended_index
    assert both.startswith(first)
    assert len(Links(both).links) == len(Links(first).links) + 1
    assert re.findall(r"The (\w+) one", both) == ["first", "second"]
    assert "2020-01-01" not in both
    assert f"Runs of code-commit in {answered.project.root.name}" in both
    whole = answered.index
    assert re.findall(r"The (\w+) one", whole) == ["second", "first"]
    assert "2020-01-01" in whole
    answered(GOOD, arguments=("--query", "The third one"))
    assert answered.appended_index.startswith(whole)


SHOWN_ABOVE_NEWER_RUNS = {
    "names": "getComputedStyle(document.querySelector('.head')).display",
    "until": "getComputedStyle(document.querySelector('.until')).display",
    "order": "[...document.querySelectorAll('.head, .newer, main')]"
    ".sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)"
    ".map(node => node.innerText.match(/The \\w+ one|Started/)[0])",
}


@pytest.mark.slow
def test_newer_runs_have_column_names_and_the_figures_say_where_they_end(answered, browser):
    def shown() -> dict[str, object]:
        # The browser measures at the end of the body: put it where a browser sees it, after the rows.
        text = answered.appended_index.replace("</body>\n</html>\n", "")
        page = answered.project.root / "logs" / "page.html"
        page.write_text(f"{text}</body></html>")
        return browser.measured(page, SHOWN_ABOVE_NEWER_RUNS, 1400)

    answered(GOOD, arguments=("--query", "The first one"))
    assert "The figures and the chart cover the runs up to 20" in answered.index
    whole = shown()
    assert (whole["names"], whole["until"]) == ("none", "none")
    answered(GOOD, arguments=("--query", "The second one"))
    newer = shown()
    assert (newer["names"], newer["until"]) == ("table", "block")
    assert newer["order"] == ["Started", "The second one", "Started"]


def test_a_list_that_no_run_wrote_is_replaced(answered):
    answered.project.write({"logs/index.html": "<script>document.title = 'owned'</script>\n" * 999})
    answered(GOOD)
    assert "owned" not in answered.appended_index
    assert "report.html" in answered.appended_index


@pytest.mark.parametrize("paths", [(), ("a.txt",)])
def test_the_pages_tell_what_was_undone(answered, paths):
    answered(f"{GOOD}^^^made.txt\nmade\n^^^end\n")
    badge = "partly undone" if paths else "undone"
    assert answered.command("undo", "latest", *paths).exit_code == 0
    assert f'<span class="badge undone">{badge}</span>' in answered.page
    assert f'<span class="badge undone">{badge}</span>' in answered.index
    assert '<tr class="undone">' in answered.index
    assert answered.command("redo").exit_code == 0
    assert answered.command("runs", "open").exit_code == 0
    assert "badge undone" not in answered.page + answered.index
