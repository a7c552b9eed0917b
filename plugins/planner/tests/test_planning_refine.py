"""Refining: the request to the planner, and what counts as its answer."""

from __future__ import annotations

import json

from code_commit_testing import Reply

NEW = "g3-plan/new_requirements.md"
CURRENT = "g3-plan/current_requirements.md"
TODO = "g3-plan/todo.g3.md"
ORIGINAL = "{{ORIGINAL USER REQUIREMENTS -- THIS SECTION WILL BE IGNORED BY THE IMPLEMENTATION}}"


def test_a_missing_file_is_reported_and_not_created(codebase):
    completed = codebase.project.command(
        "--planning", f"--codepath={codebase.project.root}", stdin="yes\n\nquit\n"
    )
    assert completed.exit_code == 0
    assert (
        f"File not found: {codebase.project.root}/g3-plan/new_requirements.md\n" in completed.stdout
    )
    assert completed.stdout.count("Hit enter for me to start a review of that file.") == 2
    assert not codebase.has(NEW)
    assert codebase.history == ""
    assert not codebase.cast.requests


def test_a_no_or_a_wrong_key_at_the_prompt_starts_no_review(codebase):
    codebase.write(NEW, "old words\n")
    person = codebase.plan()
    questions = person.answers("no", "NO ", "quir", "k", "exti", "quit")
    assert len(set(questions)) == 1
    assert not codebase.cast.requests


def test_a_file_that_cannot_be_reviewed_is_reported(codebase):
    codebase.write(NEW, "x")
    person = codebase.plan()
    person.question()
    for number, content in enumerate((b" \n", b"caf\xe9\n", b""), 1):
        (codebase.project.root / NEW).write_bytes(content)
        person.says("")
        person.question()
        assert (
            person.notices().count("g3-plan/new_requirements.md cannot be reviewed: it is ")
            == number
        )
        assert (codebase.project.root / NEW).read_bytes() == content
    person.says("quit")
    person.ends()
    assert not codebase.cast.requests


def test_the_planner_gets_the_prompt_the_tools_and_the_tag_of_the_seed(codebase):
    cast = codebase.cast
    cast.planner = [cast.called("todo_write", content="- [ ] x\n"), *cast.planner]
    codebase.write(NEW, "old words\n")
    seen = []
    cast.before["planner"] = lambda: seen.append(codebase.read(NEW))
    person = codebase.plan()
    question, approval = person.answers("please rewrite it", "no")
    assert question == (
        "I will help you refine the current requirements of your project.\n"
        f"Please write or edit your requirements in `{codebase.project.root}/g3-plan/new_requirements.md`.\n"
        "Hit enter for me to start a review of that file."
    )
    assert f"The LLM has updated `{codebase.project.root}/g3-plan/new_requirements.md`." in approval
    person.quits()
    request = codebase.cast.requests["planner"][0].json
    system, prompt = (message["content"] for message in request["messages"][:2])
    assert (
        "You're an experienced software engineering architect. Please help me to ideate and refine\n"
        in str(system)
    )
    assert f"at {codebase.project.root}.\n" in str(system)
    assert "<codepath>" not in str(system) + str(prompt)
    assert "please rewrite it" in str(prompt)
    assert [tool["function"]["name"] for tool in request["tools"]] == [
        "read_file",
        "write_file",
        "shell",
        "code_search",
        "str_replace",
        "final_output",
    ]
    assert seen[0] == f"{ORIGINAL}\n\nold words\n"
    assert codebase.read(NEW) == "{{CURRENT REQUIREMENTS}}\nAdd two.\n\nold words\n" + cast.put_back
    answer = cast.requests["planner"][1].json["messages"][-1]
    assert "There is no tool 'todo_write'." in json.dumps(answer)
    assert not codebase.has(TODO)


def test_a_model_that_writes_no_heading_ends_the_run(codebase):
    codebase.write(NEW, "old words\n")
    codebase.cast.planner = [Reply("It is incoherent.")]
    person = codebase.plan()
    person.answers("")
    finished = person.ends()
    assert finished["exit_code"] == 1
    assert person.states[-1] == "no answer of the model"
    assert person.messages()[-1].startswith("The LLM didn't respond: there is no heading")
    assert finished["summary"] == "Please restart the app to try again."
    assert codebase.has(NEW)
    assert not codebase.has(CURRENT)


def test_a_satisfied_planner_leads_to_the_approval(codebase):
    codebase.write(NEW, "old words\n")
    person = codebase.plan()
    person.answers("", "quit")
    assert person.ends()["exit_code"] == 0
    assert codebase.plan_files() == {"new_requirements.md", "planner_history.txt"}
    codebase.cast.planner = [Reply("I have nothing to add.")]
    person = codebase.start()
    question = person.answers("yes", "yes", "", "yes")[3]
    assert question.startswith(
        f"The LLM has left `{codebase.project.root}/{NEW}` as it is.\nPlease go and read"
    )
    assert "Please review" in person.question()


def test_words_at_the_approval_reach_the_planner(codebase):
    cast = codebase.cast
    cast.planner += [cast.writes(NEW, "{{CURRENT REQUIREMENTS}}\nAdd three.\n"), cast.done()]
    codebase.write(NEW, "old words\n")
    person = codebase.plan()
    agrees = ("okay", "Yes, looks good to me!")
    person.answers("", "", "hm", "c", "yse", *agrees, "yes, but drop\\\nsection 3", "yes")
    assert "Please review" in person.question()
    assert "yes, but drop\nsection 3" in cast.requests["planner"][2].prompt
    assert len(cast.requests["planner"]) == 4
    assert (
        person.notices().count("Unknown answer. Please answer 'yes' or 'no' or 'quit', or in words")
        == 6
    )
    assert person.states.count("refine requirements") == 2


def test_new_text_below_an_old_heading_is_an_answer(codebase):
    codebase.write(NEW, "{{CURRENT REQUIREMENTS}}\nfrom before\n")
    person = codebase.plan()
    person.answers("", "no")
    person.quits()
    assert person.states.count("approval") == 1


def test_each_no_refines_again_and_adds_a_line(codebase):
    cast = codebase.cast
    cast.planner += [cast.writes(NEW, "{{CURRENT REQUIREMENTS}}\nAdd three.\n"), cast.done()]
    codebase.write(NEW, "old words\n")
    person = codebase.plan()
    person.answers("", "no", "", "no")
    person.quits()
    assert codebase.read(NEW) == "{{CURRENT REQUIREMENTS}}\nAdd three.\n" + cast.put_back
    assert [line[20:] for line in codebase.history.splitlines()] == [
        "- REFINING REQUIREMENTS (new_requirements.md)"
    ] * 2


def test_a_failed_service_is_reported(codebase):
    codebase.write(NEW, "old words\n")
    codebase.cast.planner = [Reply.error(401, "bad key")]
    person = codebase.plan()
    person.answers("")
    finished = person.ends()
    assert finished["exit_code"] == 4
    assert "key" in finished["data"]["hint"]


def test_what_the_person_wrote_stays_whatever_the_planner_does_to_the_file(codebase):
    cast = codebase.cast
    cast.planner = [
        cast.writes(NEW, "{{CURRENT REQUIREMENTS}}\n-- Add two.\n"),
        cast.done(),
        cast.writes(NEW, f"{{{{CURRENT REQUIREMENTS}}}}\nAdd three.\n\n{ORIGINAL}\n\nold\n"),
        cast.done(),
        cast.called("shell", command=f"rm {NEW}"),
        Reply("Gone."),
    ]
    codebase.write(NEW, "old words\n\nand more\n")
    person = codebase.plan()
    original = f"\n{ORIGINAL}\n\nold words\n\nand more\n"
    questions = person.answers("", "shorter, please")
    assert (
        "they are back in\ng3-plan/new_requirements.md. Its version is in logs/" in person.notices()
    )
    assert codebase.read(NEW) == "{{CURRENT REQUIREMENTS}}\n-- Add two.\n" + original
    shown = person.notices().rpartition("What the LLM changed in new_requirements.md:\n")[2]
    assert shown.startswith("  +{{CURRENT REQUIREMENTS}}\n  +-- Add two.\n")
    assert "old words" not in shown
    assert questions[1].startswith("The LLM has updated")
    person.question()
    assert codebase.read(NEW) == "{{CURRENT REQUIREMENTS}}\nAdd three.\n" + original
    assert person.notices().endswith(
        "What the LLM changed in new_requirements.md:\n   {{CURRENT REQUIREMENTS}}\n"
        "  --- Add two.\n  +Add three.\n   "
    )
    person.says("try another way")
    assert person.ends()["summary"] == "Please restart the app to try again."
    assert codebase.read(NEW) == original.lstrip("\n")


def test_what_the_person_wrote_is_in_git_after_the_approval(codebase):
    codebase.cast.planner[0] = codebase.cast.writes(NEW, "{{CURRENT REQUIREMENTS}}\n")
    codebase.write(NEW, "old words\n")
    person = codebase.plan()
    person.answers("", "yes", "commit")
    person.quits()
    [completed] = [path for path in codebase.committed() if "completed_requirements" in path]
    assert codebase.read(completed).endswith(f"\n{ORIGINAL}\n\nold words\n")


def test_what_the_person_wrote_is_put_back_after_an_error_or_a_kill(codebase):
    cast = codebase.cast
    writes = cast.writes(NEW, "{{CURRENT REQUIREMENTS}}\nAdd two.\n")
    cast.planner = [writes, Reply.error(401, "bad key")]
    codebase.write(NEW, "old words\n")
    kept = "{{CURRENT REQUIREMENTS}}\nAdd two.\n" + cast.put_back
    person = codebase.plan()
    person.answers("", "no")
    assert person.ends()["exit_code"] == 4
    assert codebase.read(NEW) == kept
    codebase.write(NEW, f"{ORIGINAL}\n\nold words\n")
    person = codebase.start()
    cast.planner = [writes, Reply("never used")]
    killed = []

    def kill() -> None:
        if len(cast.requests["planner"]) == 4:
            killed.append(person.kill())

    cast.before["planner"] = kill
    person.answers("yes", "yes", "")
    assert person.process.wait(60) < 0
    assert codebase.read(NEW) == "{{CURRENT REQUIREMENTS}}\nAdd two.\n"
    person = codebase.start()
    person.answers("yes", "yes", "quit")
    assert codebase.read(NEW) == kept
    assert "The LLM had removed some of your original requirements" in person.notices()


def test_the_planner_does_not_overwrite_what_the_person_writes_meanwhile(codebase):
    cast = codebase.cast
    own = f"{ORIGINAL}\n\nold words\nand what I forgot\n"
    after = f"{{{{CURRENT REQUIREMENTS}}}}\nAdd both.\n\n{own}"
    cast.planner = [
        *[cast.writes(NEW, "{{CURRENT REQUIREMENTS}}\nAdd two.\n")] * 2,
        cast.called("read_file", path=NEW),
        cast.writes(NEW, after),
        cast.done(),
    ]
    codebase.write(NEW, "old words\n")

    def edit() -> None:
        if len(cast.requests["planner"]) == 1:
            codebase.write(NEW, own)

    cast.before["planner"] = edit
    person = codebase.plan()
    person.answers("", "quit")
    assert codebase.read(NEW) == after
    messages = json.dumps(cast.requests["planner"][-1].json["messages"])
    assert (
        messages.count(
            "g3-plan/new_requirements.md was not written: it was changed since you read it"
        )
        == 2
    )
