"""Which values of arguments stay in a skill, and what its placeholders are called."""

from __future__ import annotations

from made_episodes import call, episode

from prowess.learning.synthesis.drafts import propose, replays
from prowess.storage.models import Skill, Trajectory


def shown_by(runs: list[Trajectory], *tools: str) -> Skill:
    (found,) = [one for one in propose(runs) if [step.tool for step in one.steps] == list(tools)]
    assert all(replays(found, run) for run in runs if run.episode.id in found.episodes)
    return found


def commands(*lines: str) -> Skill:
    (found,) = propose([episode(f"e{n}", [("bash", {"command": line})]) for n, line in enumerate(lines)])
    assert found.support == len(lines)
    return found


def test_what_most_tasks_give_stays_though_a_few_say_it() -> None:
    tasks = ["Start the engine, then tweet.", "Please start the car and tweet.", "The car!", "My car, go.", "Go!"]
    runs = [
        episode(f"e{n}", [("ignite", {"mode": "START"}), *(["tweet"] if "tweet" in task else ["drive"])], task=task)
        for n, task in enumerate(tasks)
    ]
    assert shown_by(runs, "ignite", "tweet").steps[0].args_template == {"mode": "START"}


def test_what_two_tasks_say_and_others_do_not_give_is_theirs() -> None:
    tasks = ["Paint it red, then sell it.", "Sell the red one.", "Blue, and lend it.", "Lend it in pink.", "Lend: ash"]
    runs = [
        episode(f"e{n}", [("paint", {"as": name}), "sell" if "ell" in task else "lend"], task=task)
        for n, (task, name) in enumerate(zip(tasks, ["red", "red", "blue", "pink", "ash"], strict=True))
    ]
    assert shown_by(runs, "paint", "sell").steps[0].args_template == {"as": "{as}"}


def test_words_that_all_commands_end_with_stay() -> None:
    found = commands("pytest tests/a -k one -v", "pytest tests/b/c -v")
    assert found.steps[0].args_template == {"command": "pytest {pytest_args} -v"}


def test_a_bracket_that_nothing_opens_in_a_piece_closes_it() -> None:
    found = commands("md5sum $(sort -u a b)", "md5sum $(sort c)")
    assert found.steps[0].args_template == {"command": "md5sum $(sort {sort_args})"}


def test_the_options_of_usual_programs_name_what_follows_them() -> None:
    found = commands("psql -h db.eu -c 'select 1'", "psql -h db.us -c 'select 1'")
    assert found.steps[0].args_template == {"command": "psql -h {host} -c 'select 1'"}


def test_a_piece_is_called_as_another_call_calls_it() -> None:
    runs = [
        episode(
            f"e{n}",
            [("deploy", {"service": name, "to": place}), ("tell", {"text": f"The {name} is live on {place} at last"})],
        )
        for n, (name, place) in enumerate([("shop", "staging"), ("mailer", "production")])
    ]
    found = shown_by(runs, "deploy", "tell")
    assert found.steps[1].args_template == {"text": "The {service} is live on {to} at last"}
    single = [one for one in propose(runs) if [step.tool for step in one.steps] == ["tell"]]
    assert all(one.steps[0].args_template == found.steps[1].args_template for one in single)


def test_an_empty_value_is_no_example_where_others_say_something() -> None:
    runs = [episode(f"e{n}", [("file_ticket", {"text": text}), "close"]) for n, text in enumerate(["", "It is broken"])]
    assert [one.examples for one in shown_by(runs, "file_ticket", "close").parameters] == [("It is broken",)]


def test_short_values_that_agree_by_chance_are_no_one_placeholder() -> None:
    made = [
        episode(
            key, [("book", {"seats": number, "row": number, "hall": hall}), ("lock", {"room": hall, "seats": number})]
        )
        for key, number, hall in (("a", 12, "hall-of-mirrors"), ("b", 34_567, "hall-of-fame"))
    ]
    (found,) = propose(made)
    book, lock = found.steps
    assert book == call("book", seats="{seats}", row="{row}", hall="{hall}")
    assert lock == call("lock", room="{hall}", seats="{seats}")


def test_a_single_sign_is_not_looked_for_in_the_task() -> None:
    made = [episode(key, [("put", {"level": n}), "stop"], task=f"put {n} of 9 up") for key, n in (("a", 3), ("b", 4))]
    (found,) = propose(made)
    assert [(one.name, one.source) for one in found.parameters] == [("level", "unknown")]


def test_what_a_secret_was_taken_out_of_is_no_constant_and_no_example() -> None:
    hidden = "[masked:secret-field]"
    runs = [
        episode(
            key, [("sign_in", {"password": hidden, "as": "bot"}), ("pay", {"access_token": hidden, "sum": key * 6})]
        )
        for key in "abc"
    ]
    found = shown_by(runs, "sign_in", "pay")
    assert found.steps[0].args_template == {"password": "{password}", "as": "bot"}
    assert found.steps[1].args_template == {"access_token": "{access_token}", "sum": "{sum}"}
    assert [one.examples for one in found.parameters][:2] == [(), ()]


def test_of_a_command_line_the_word_with_the_secret_is_open() -> None:
    line = "curl -s -H 'Authorization: [masked:bearer]' https://api.acme.dev/v1/jobs"
    found = commands(line, line, line)
    assert "masked" not in str(found.steps[0].args_template)
    assert [one.name for one in found.parameters][:1] == ["header"]


def test_what_two_tasks_were_about_is_no_constant_beside_what_varies() -> None:
    lines = (
        "gh api repos/acme/shop/pulls/169/comments --jq '.[0]'",
        "gh api repos/acme/shop/pulls/169/comments --jq '.'",
    )
    runs = [
        episode(f"e{n}", [("Bash", {"command": line}), ("Bash", {"command": "mise run test"})], task_id=f"t{n}")
        for n, line in enumerate(lines)
    ]
    found = shown_by(runs, "Bash", "Bash")
    assert found.steps[0].args_template == {"command": "gh api {endpoint} --jq '{jq}'"}


def test_statements_of_a_database_are_steps_of_their_own_whose_words_are_named() -> None:
    def psql(statement: str) -> tuple[str, dict[str, str]]:
        return ("Bash", {"command": f'psql "$URL" -c "{statement}"'})

    runs = [
        episode(
            table,
            [
                psql(f"EXPLAIN SELECT * FROM {table} WHERE {column} = 42"),
                psql(f"CREATE INDEX idx_{table}_{column} ON {table} ({column})"),
                psql(f"ANALYZE {table}"),
            ],
        )
        for table, column in (("orders", "customer"), ("events", "created_at"))
    ]
    (found,) = propose(runs)
    assert [(step.args_template or {})["command"] for step in found.steps] == [
        'psql "$URL" -c "EXPLAIN SELECT * FROM {table} WHERE {column} = 42"',
        'psql "$URL" -c "CREATE INDEX {index} ON {table} ({column})"',
        'psql "$URL" -c "ANALYZE {table}"',
    ]
    assert found.description.startswith("Create an index and update the statistics with psql.")
    assert all(replays(found, run) for run in runs)


def test_the_mark_behind_a_word_is_no_part_of_what_it_stands_for() -> None:
    runs = [
        episode(
            key,
            [
                ("push", {"message": f"{key}: mend it at last"}),
                ("close_issue", {"issue": key}),
                ("tell", {"text": f"See https://git.example/{key} for it"}),
            ],
        )
        for key in ("PAY-17", "WEB-22")
    ]
    assert [step.args_template for step in shown_by(runs, "push", "close_issue", "tell").steps] == [
        {"message": "{issue}: mend it at last"},
        {"issue": "{issue}"},
        {"text": "See {url} for it"},
    ]


def test_a_command_repeats_for_what_varies_in_it_if_the_step_tells_all_its_lines() -> None:
    def pings(*lines: str) -> list[Trajectory]:
        return [
            episode(
                key, [*[("Bash", {"command": line.format(key)}) for line in lines], ("Bash", {"command": "make x"})]
            )
            for key in ("aa", "bb")
        ]

    same = shown_by(pings("psql -h db -d {}1", "psql -h db -d {}2"), "Bash", "Bash")
    assert (same.steps[0].args_template, same.steps[0].note) == (
        {"command": "psql -h db -d {database}"},
        "repeat for each database",
    )
    other = shown_by(pings("psql -h db -l", "psql -h db -d {}2"), "Bash", "Bash")
    assert other.steps[0].note == ""
