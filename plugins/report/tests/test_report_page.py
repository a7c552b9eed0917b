"""The page of a run, written by the real command."""

from __future__ import annotations

import ctypes
import html
import os
import re
import shutil
import sys
from contextlib import contextmanager, suppress
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from code_commit.plugin_api import RunTexts
from code_commit_testing import Reply, ScriptedServer, install_plugin


def block(text, path="a.txt"):
    return f"^^^{path}\n{text}^^^end\n"


class Parts(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data

    def named(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def test_the_page_shows_the_whole_run(answered):
    finished = answered(
        block("bad\n"),
        "no block",
        block("good\n") + block("x\n", "new.py"),
        arguments=("--query", "Do"),
    )
    assert finished.exit_code == 0, finished.stderr
    page = Parts(answered.page)
    for words in (
        *(
            "reached",
            "2 files changed, the build passes",
            "committing-code",
            "code-commit --query Do",
        ),
        *("Attempt 1", "Attempt 2", "Attempt 3", "initial-query", "repair-query", "gpt-5"),
        *(
            "ended with exit code 1",
            "passed",
            "refused",
            "there is no file replacement in the response",
            "new.py",
        ),
        *("error: no good", "[codebase]", "^^^a.txt"),
    ):
        assert words in page.text, words
    anchors = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    targets = {link["href"][1:] for link in page.named("a") if link["href"].startswith("#")}
    assert targets <= anchors
    assert {
        "call-1",
        "call-2",
        "call-3",
        "change-1",
        "change-2",
        "change-3",
        "process-1",
        "process-2",
    } <= targets


def test_a_diff_is_side_by_side(answered_once):
    answered = answered_once(block("bad\n"), block("good\n"))
    whole, first, second = re.findall(
        r'<table class="diff">(.*?)</table>', answered.page, re.DOTALL
    )
    assert re.findall(r'<td class="(old|new)">([^<]*)</td>', whole) == [
        ("old", "old"),
        ("new", "good"),
    ]
    assert re.findall(r'<td class="(old|new)">([^<]*)</td>', first) == [
        ("old", "old"),
        ("new", "bad"),
    ]
    assert re.findall(r'<td class="(old|new)">([^<]*)</td>', second) == [
        ("old", "bad"),
        ("new", "good"),
    ]


def test_a_single_change_is_shown_once_at_the_top(answered_once):
    answered = answered_once(block("good\n"))
    assert answered.page.count('<table class="diff">') == 1
    assert answered.page.index('id="changes"') < answered.page.index('<table class="diff">')
    assert answered.page.index('<table class="diff">') < answered.page.index('id="timeline"')
    assert '<a href="#changes">all that changed</a>' in answered.page


def test_all_changes_are_those_of_responses(answered):
    answered.project.write({"build.sh": "echo made > made.txt\n"})
    answered(block("good\n"))
    assert "1 file differs from before the run" in Parts(answered.page).text
    assert "made.txt" not in (answered.project.run_folder / "all-changes.diff").read_text()


def test_files_that_have_changes_of_a_person_are_named(answered):
    answered(block("good\n"))
    events = answered.project.run_folder / "events.jsonl"
    events.write_text(events.read_text().replace('"merged":[]', '"merged":["a<b.txt"]'))
    assert answered.command("runs", "export", "--sink", "html").exit_code == 0
    assert "merged with your changes: a&lt;b.txt" in answered.page


def test_the_query_is_at_the_top_and_in_the_index(answered):
    answered(block("good\n"), arguments=("--query", "\n  Say <hello>  \nwith more words\n"))
    assert '<p class="query">Say &lt;hello&gt;</p>' in answered.page
    assert '<td data-name="Query" class="name">Say &lt;hello&gt;</td>' in answered.index


def test_a_run_that_was_not_ready_has_no_page(answered):
    answered(block("good\n"))
    before = answered.index
    answered.project.write({"agent-config/query.txt": " "})
    finished = answered(block("better\n"))
    assert (finished.exit_code, answered.index) == (3, before)
    assert "plugin" not in finished.stderr


def test_the_output_of_a_build_is_shown_as_on_a_terminal(answered):
    frames = "for i in $(seq 0 20000); do printf '\\r%05d of 20000' $i; done; echo"
    answered.project.write(
        {"build.sh": f"echo one; echo two >&2; echo three\n{frames}\nprintf 'dos\\r\\n' >&2\n"}
    )
    assert answered(block("good\n")).exit_code == 0
    (log,) = answered.project.run_folder.glob("*-build.txt")
    assert log.stat().st_size > 300_000
    assert "one\ntwo\nthree\n20000 of 20000\ndos\n" in Parts(answered.page).text
    assert "left out" not in answered.page
    assert "00001 of 20000" not in answered.page


def test_errors_of_a_build_are_marked(answered_once):
    answered = answered_once(block("good\n"))
    marked = re.findall(r'<mark class="error" id="([^"]*)">([^<]*)</mark>', answered.page)
    assert marked == [("error-1-1", "error: no good")]
    # The link to it.
    assert re.findall(r'<a href="#(error[^"]*)">([^<]*)</a>', answered.page) == marked


def test_errors_in_the_left_out_part_are_shown(answered):
    lines = "for i in $(seq 1 300); do echo line $i; done\n"
    answered.project.write({"build.sh": f"{lines}echo 'error: hidden'\n{lines}exit 1\n"})
    answered(
        block("bad\n"), arguments=("--repairs", "0"), settings="[plugins.html]\ntext_limit = 1024\n"
    )
    assert "except lines with errors" in answered.page
    assert "hidden</mark>" in answered.page
    assert "line 200\n" not in answered.page


def test_the_left_out_part_of_a_green_build_is_not_searched(answered):
    lines = "for i in $(seq 1 300); do echo line $i; done\n"
    answered.project.write({"build.sh": f"{lines}echo 'error: hidden'\n{lines}"})
    answered(block("good\n"), settings="[plugins.html]\ntext_limit = 1024\n")
    assert "bytes left out …]" in answered.page
    assert "hidden</mark>" not in answered.page


def test_the_page_and_the_index_show_that_a_run_was_killed(answered):
    answered(block("good\n"))
    folder = answered.project.run_folder
    events = (folder / "events.jsonl").read_text().splitlines(keepends=True)
    (folder / "events.jsonl").write_text(
        "".join(line for line in events if '"run.finished"' not in line)
    )
    (folder / "run.json").unlink()
    assert answered.command("runs", "export", "--sink", "html").exit_code == 0
    assert '<span class="badge bad">killed</span>' in answered.page
    assert 'http-equiv="refresh"' not in answered.page
    assert '<span class="badge bad">killed</span>' in answered.index
    assert '<td data-name="Attempts" class="right">1</td>' in answered.index


def test_a_run_without_a_document_is_read_from_its_events(answered):
    answered(block("good\n"))
    (answered.project.run_folder / "run.json").unlink()
    assert answered.command("runs", "export", "--sink", "html").exit_code == 0
    assert "killed" not in answered.index
    assert "the build passes" in answered.index


EVIL = "</pre></td><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\u202e\x1b[2J"


@pytest.fixture
def hostile(answered_once):
    written = block(f"# {EVIL}\nbad\n", "<img src=x onerror=alert(1)>.py")
    return answered_once(
        *(f"{EVIL}\n{written}", f"{EVIL}", block("good\n")),
        arguments=("--query", EVIL.replace("\x1b", "")),
        more=(("<img src=x onerror=alert(1)>.py", "old\n"),),
    )


def test_hostile_text_is_escaped(hostile):
    page = Parts(hostile.page)
    assert not page.named("script")
    assert not page.named("img")
    assert not [
        attributes
        for _, attributes in page.tags
        if any(name.startswith("on") for name in attributes)
    ]
    assert "document.title='owned'" in page.text
    assert "\\u202e" in page.text
    assert "\\x1b[2J" in page.text
    assert not set("\u202e\x1b") & set(hostile.page)


def test_the_page_loads_no_external_resources(hostile):
    for text in (hostile.page, hostile.index):
        page = Parts(text)
        [policy] = [
            meta["content"]
            for meta in page.named("meta")
            if meta.get("http-equiv") == "Content-Security-Policy"
        ]
        assert policy.startswith("default-src 'none'; style-src 'sha256-")
        assert "unsafe" not in policy
        assert not {name for name, _ in page.tags} & {
            "script",
            "link",
            "img",
            "iframe",
            "object",
            "embed",
            "base",
            "form",
        }
        assert "style" not in {name for _, attributes in page.tags for name in attributes}
        assert not re.search(r"url\(|@import", text.partition("</style>")[0])
        assert all(
            link["href"].startswith(("#", "./", "../index.html", "20")) for link in page.named("a")
        )


def test_a_key_is_not_on_the_page(answered):
    key = "sk-canary-0123456789-key7Q"
    answered.project.write(
        {
            "agent-config/gemini-key.txt": key + "\n",
            "a.txt": f"{key}\n",
            "build.sh": f"echo {key}\n",
        }
    )
    answered(block("good\n"))
    assert key not in answered.page
    assert "good" in answered.page


def test_a_failed_run_has_a_page(answered):
    assert answered("never a block", arguments=("--repairs", "0")).exit_code == 5
    assert 'badge bad">response_refused' in answered.page


def test_a_live_page_is_written_during_the_run_and_reloads_itself(answered):
    answered.project.write(
        {"build.sh": "cat logs/*/report.html > seen.html 2>/dev/null; grep -q good a.txt\n"}
    )
    answered(block("good\n"), settings="[plugins.html]\nlive = true\n")
    seen = answered.project.read("seen.html")
    assert '<span class="badge open">running</span>' in seen
    assert "build running" in seen
    assert '<meta http-equiv="refresh"' in seen
    assert '<meta http-equiv="refresh"' not in answered.page


def test_the_page_is_written_at_the_end_and_the_index_can_be_turned_off(answered):
    answered.project.write(
        {"build.sh": "cat logs/*/report.html > seen.html 2>/dev/null; grep -q good a.txt\n"}
    )
    answered(block("bad\n"), block("good\n"), settings="[plugins.html]\nindex = false\n")
    assert answered.project.read("seen.html") == ""
    assert "reached" in answered.page
    assert not (answered.project.root / "logs" / "index.html").exists()
    assert "index.html" not in answered.page


def test_a_long_text_is_cut_in_the_middle(answered):
    answered.project.write(
        {"agent-config/codeRollup.txt": "begin\n" + "x" * 300_000 + "\nend of it\n"}
    )
    answered(block("good\n"), settings="[plugins.html]\ntext_limit = 4096\n")
    assert "bytes left out" in answered.page
    assert "end of it" in answered.page
    assert len(answered.page) < 60_000


def test_a_page_is_small_and_links_to_the_files(answered):
    code = "--- a.txt ---\nold\n" + "".join(
        f"line {number} of a large codebase, nothing in it repeats\n" for number in range(5300)
    )
    answered.project.write({"agent-config/codeRollup.txt": code})
    answered(block("bad\n"), block("good\n"))
    texts = RunTexts(answered.project.run_folder)
    prompts = ("1-initial-query.txt", "2-repair-query.txt")
    assert all(len(texts.read(prompt)) > 280_000 for prompt in prompts)
    assert len(answered.page) < 80_000
    page = Parts(answered.page)
    assert page.text.count("line 100 of a large codebase") == 1
    assert re.search(r"\[… 5,3\d\d lines as in 1-initial-query.txt …\]", page.text)
    assert "--- FILE REPLACEMENT a.txt ---" in page.text  # what the repair adds
    linked = {link["href"] for link in page.named("a") if link["href"].startswith("./")}
    assert {f"./{prompt}" for prompt in prompts} <= linked
    assert all((answered.project.run_folder / link).is_file() for link in linked)


DOCUMENTED = (
    '"""Begin.\n' + "words of the docstring\n" * 9 + '"""\n\nvalue = {value}\nname = "it"\n'
)


@pytest.mark.parametrize("exported", [False, True])
def test_a_hunk_that_begins_in_a_docstring_has_the_colors_of_its_file(answered, exported):
    text = DOCUMENTED.format(value=1)
    answered.project.write({"doc.py": text, "build.sh": "exit 0\n"})
    answered.project.write({"agent-config/codeRollup.txt": f"--- doc.py ---\n{text}"})
    answered(block(DOCUMENTED.format(value=2), "doc.py"))
    if exported:  # the file is another one by then
        answered.project.write({"doc.py": "other\n"})
        assert answered.command("runs", "export", "--sink", "html").exit_code == 0
    old, new = re.findall(r'<td class="(?:old|new)">(.*?)</td>', answered.page)
    assert old == 'value = <span class="tn">1</span>'
    assert new == 'value = <span class="tn">2</span>'
    assert '>name = <span class="ts">&#34;it&#34;</span>' in answered.page.replace(
        '</span><span class="ts">', ""
    )
    assert (
        answered.page.count('<td class=""><span class="ts">words of the docstring</span></td>') == 1
    )


def test_a_page_shows_the_first_files_of_a_large_change(answered):
    answered(
        block("good\n") + "".join(f"^^^many/f{number}.txt\nx\n^^^end\n" for number in range(2100)),
        settings="[plugins.html]\nlive = true\n",
    )
    page = answered.page
    assert "2,101 files differ" in page
    assert page.count('<table class="diff">') == 500
    assert "1601 more files are in all-changes.diff" in page
    assert "2,101 files written" in page
    shutil.rmtree(answered.project.root / "agent-config/.code-commit/runs")
    events = answered.project.run_folder / "events.jsonl"
    events.write_text(events.read_text().replace('"diff":"1-changes.diff"', '"diff":null'))
    assert answered.command("runs", "export", "--sink", "html").exit_code == 0
    assert "and 1601 more, in events.jsonl" in answered.page


def test_export_writes_the_page_of_an_earlier_run(answered):
    answered(block("bad\n"), block("good\n"), arguments=("--disable-plugin", "html"))
    assert not (answered.project.run_folder / "report.html").exists()
    finished = answered.command("runs", "export", "--sink", "html")
    assert finished.exit_code == 0, finished.stderr
    assert answered.page.count('<table class="diff">') == 3


def test_a_report_that_cannot_be_written_does_not_end_the_run(answered):
    answered.project.write({"build.sh": "exit 0\n", "logs/index.html/x": "a folder\n"})
    finished = answered(block("good\n"))
    assert finished.exit_code == 0
    assert "html" in finished.stderr


def test_the_name_of_the_project_need_not_be_utf_8(answered):
    root = answered.project.root.rename(answered.project.root.with_name("caf\udce9"))
    moved = replace(answered, project=replace(answered.project, root=root))
    finished = moved(block("good\n"))
    assert (finished.exit_code, "error: html" in finished.stderr) == (0, False), finished.stderr
    assert "reached" in moved.page
    assert moved.project.run_folder.name in moved.index


# --- the index --------------------------------------------------------------------------------------------------------


def test_the_index_lists_every_run_with_its_outcome(answered):
    answered(block("good\n"))
    answered("no block", arguments=("--repairs", "0"))
    page = Parts(answered.index)
    assert page.text.count("committing-code") >= 2
    assert "1 (50 %)" in page.text
    links = [link["href"] for link in page.named("a") if link["href"].endswith("/report.html")]
    assert len(links) == 2
    assert all((answered.project.root / "logs" / link).is_file() for link in links)
    names = [link.removesuffix("/report.html") for link in links]
    assert names == sorted(names, reverse=True)


@contextmanager
def moved_into(folder):
    """Return a list, which gets the new names of files that are renamed in `folder`."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "inotify_init"):
        pytest.skip("inotify needs Linux: the number of writes is not tested")
    # Watch both ends of a rename: the kernel merges equal events.
    moved_from = 0x40
    moved_to = 0x80
    handle = libc.inotify_init()
    names: list[str] = []
    os.set_blocking(handle, False)
    assert libc.inotify_add_watch(handle, bytes(folder), moved_from | moved_to) >= 0
    try:
        yield names
        with suppress(BlockingIOError):
            while data := os.read(handle, 65536):
                while data:
                    mask, size = (
                        int.from_bytes(data[at : at + 4], sys.byteorder) for at in (4, 12)
                    )
                    if mask & moved_to:
                        names.append(data[16 : 16 + size].rstrip(b"\0").decode())
                    data = data[16 + size :]
    finally:
        os.close(handle)


def test_exporting_many_runs_writes_each_page_and_the_index_once(answered):
    answered(block("bad\n"), block("good\n"), arguments=("--disable-plugin", "html"))
    logs, first = answered.project.root / "logs", answered.project.run_folder
    runs = [first, *(logs / f"2020-01-01-00-00-0{number}-committing-code" for number in range(3))]
    for copy in runs[1:]:
        shutil.copytree(first, copy)
    incomplete = (runs[2] / "events.jsonl").read_text().splitlines(keepends=True)[:6]
    (runs[2] / "events.jsonl").write_text("".join(incomplete))
    with moved_into(logs) as names:
        finished = answered.command("runs", "export", "--sink", "html", "--all")
    assert finished.exit_code == 0, finished.stderr
    assert names == ["index.html"]
    pages = [(folder / "report.html").read_text() for folder in runs]
    parts = [page.count("<h2") for page in pages]
    # Nothing of one run is in another; a copy has no log.
    assert parts[0] - 1 == parts[1] == parts[3]
    assert (
        len(
            [
                link
                for link in Parts(answered.index).named("a")
                if link["href"].endswith("/report.html")
            ]
        )
        == 4
    )


def test_a_run_that_cannot_be_exported_does_not_affect_others(answered):
    answered(block("good\n"), arguments=("--disable-plugin", "html"))
    logs, first = answered.project.root / "logs", answered.project.run_folder
    older = logs / "2020-01-01-00-00-00-committing-code"
    shutil.copytree(first, older)
    (older / "report.html").mkdir()
    finished = answered.command("runs", "export", "--sink", "html", "--all", "--json")
    assert finished.exit_code == 1
    assert list(finished.document["failed"]) == [older.name]
    assert finished.document["exported"] == [first.name]
    assert "reached" in (first / "report.html").read_text()
    assert first.name in answered.index


@pytest.mark.fast_rows(3)
@pytest.mark.parametrize(
    "document",
    [
        "",
        "[]",
        "{}",
        '{"models": 5, "tokens": [], "seconds": null}',
        '{"models": [{"tokens": {}}]}',
    ],
)
def test_a_run_with_an_invalid_document_is_in_the_index(answered, document):
    answered.project.write({"logs/2020-01-01-00-00-00-odd/run.json": document})
    answered(block("good\n"))
    assert "2020-01-01 00:00:00" in answered.index
    assert "killed" in answered.index


def test_what_arrived_of_a_failed_call_is_shown(answered):
    code = "from code_commit_testing.loopback_provider import code_commit_providers"
    plugins = install_plugin(answered.plugins, "loopback", code)
    with ScriptedServer(
        [Reply(status=400, body=b'{"error": {"message": "no", "details": "half <b>"}}')]
    ) as server:
        environ = {
            "LOOPBACK_BASE_URL": server.url("openai"),
            "LOOPBACK_API_KEY": "sk-canary-0123456789",
        }
        finished = answered.project.command(
            "--model", "loopback-1", plugins=[plugins], environ=environ
        )
    assert finished.exit_code == 4, finished.stderr
    (arrived,) = re.findall(r"<summary>What arrived .*?<pre>(.*?)</pre>", answered.page, re.DOTALL)
    assert html.unescape(arrived).startswith('{"error"')
    assert answered.page.count("half &lt;b&gt;") == 1


FINDINGS_WORKFLOW = """
from code_commit.plugin_api import Flag, Outcome, Result, WorkflowDefinition, hookimpl


@hookimpl
def code_commit_workflows():
    flags = (Flag(("--review-all",), "find something", selects=True),)
    return [WorkflowDefinition("review-all", "x", flags, f"{__name__}:run", roles=None, writes=False)]


def run(run):
    found = {"section": "Errors", "text": "It <b>never</b> retries.", "paths": ["a.py", "b.py"],
             "places": [{"path": "a.py", "line": 3, "end": 4}], "specification": "Spec.md", "samples": [1, 2]}
    return Result(Outcome.REACHED, "1 finding", {"findings": [found, "no object"]})
"""


def test_the_findings_of_a_workflow_are_a_table(answered):
    install_plugin(answered.plugins, "findings", FINDINGS_WORKFLOW)
    assert answered.command("--review-all").exit_code == 0
    page = answered.page
    assert '<h2 id="findings">Findings</h2>' in page
    assert "It &lt;b&gt;never&lt;/b&gt; retries." in page
    assert "<code>a.py:3</code><br><code>b.py</code><br>" in page
    assert "about Spec.md" in page
    assert '<td data-name="Reports">2</td>' in page
