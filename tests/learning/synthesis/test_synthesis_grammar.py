"""Moves in English: verbs, objects, articles, and what programs do."""

from __future__ import annotations

import pytest

from prowess.learning.synthesis.grammar import acts_of, article, listed, programs_of


def said(key: str, *arguments: str, **spelled: str) -> str:
    return " and ".join(" ".join(act.words()) for act in acts_of(key, arguments, spelled))


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        ("cancel_booking", "cancel the booking"),
        ("startEngine", "start the engine"),
        ("lockDoors", "lock the doors"),
        ("mcp__shop__getOrderStatus", "get the order status"),
        ("post_tweet", "post a tweet"),
        ("place_order", "place an order"),
        ("create_api_key", "create an API key"),
        ("send_messages", "send messages"),
        ("list_all_airports", "list all airports"),
        ("get_stock_info", "get stock info"),
        ("enable_roaming", "enable roaming"),
        ("cancel_meeting", "cancel the meeting"),
        ("transition_issue", "transition the issue"),
        ("find_user_id_by_email", "find the user ID by email"),
        ("get_zipcode_based_on_city", "get the zipcode based on the city"),
        ("transfer_to_human_agents", "transfer to human agents"),
        ("liter_to_gallon", "convert liters to gallons"),
        ("ticket_login", "log in to the ticket service"),
        ("order_cancel", "cancel the order"),
        ("can_send_mms", "check whether you can send MMS"),
        ("weather", "get the weather"),
        ("turn_on_light", "turn on the light"),
        ("look_up_order", "look up the order"),
        ("is_premium_user", "check whether it is a premium user"),
        ("execute_bash", "run a command"),
        ("str_replace_editor", "use the str replace editor"),
    ],
)
def test_a_tools_name_is_told_as_verb_and_object(tool: str, told: str) -> None:
    assert said(tool) == told


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        ("getHTTPResponse", "get the HTTP response"),
        ("parseXMLFile", "parse the XML file"),
        ("getURLs", "get the URLs"),
        ("listIDsOfUser", "list the IDs of the user"),
        ("refreshOAuthToken", "refresh the oauth token"),
    ],
)
def test_an_acronym_is_one_word_with_the_s_of_its_plural(tool: str, told: str) -> None:
    assert said(tool) == told


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        ("issue_create", "create an issue"),
        ("page_navigate", "navigate to the page"),
        ("slack_post_photo", "post a slack photo"),
        ("slack_reply_to_thread", "reply to the slack thread"),
        ("google_drive_create_file", "create a google drive file"),
        ("github_create_or_update_file", "create or update a github file"),
        ("bulk_create_users", "create users"),
        ("flight_search_results", "get the flight search results"),
        ("password_reset_email", "get the password reset email"),
        ("browser_take_screenshot", "take a screenshot with the browser"),
        ("browser_file_upload", "upload the file with the browser"),
        ("browser_click", "click with the browser"),
        ("browser_close", "close the browser"),
        ("browser_snapshot", "get the browser snapshot"),
        ("browser_wait_for", "wait for"),
    ],
)
def test_what_stands_before_the_verb_belongs_to_the_object_or_is_what_does_it(tool: str, told: str) -> None:
    assert said(tool) == told


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        ("login_user", "log in a user"),
        ("login_registry", "log in to the registry"),
        ("signin_with_token", "sign in with the token"),
        ("logout_user", "log out the user"),
        ("signup_user", "sign up a user"),
        ("setup_project", "set up a project"),
        ("checkout_branch", "check out the branch"),
        ("lookup_order", "look up the order"),
        ("checkout", "check out"),
        ("login", "log in"),
    ],
)
def test_a_verb_and_its_particle_in_one_word_are_told_apart(tool: str, told: str) -> None:
    assert said(tool) == told


def test_two_verbs_have_one_object() -> None:
    assert said("create_or_update_file") == "create or update a file"
    assert said("read_and_delete_message") == "read and delete the message"


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        ("github.create_issue", "create an issue"),
        ("github/create_issue", "create an issue"),
        ("mcp__github__create_issue", "create an issue"),
        ("search.web", "search the web"),
        ("issue.create", "create an issue"),
        ("mcp__playwright__click", "click with playwright"),
        ("mcp__browser__click", "click with the browser"),
        ("functions.click", "click"),
        ("mcp__agent__finish", "finish"),
    ],
)
def test_a_server_is_told_only_where_its_tool_has_no_object(tool: str, told: str) -> None:
    assert said(tool) == told


def test_a_tool_called_like_a_command_does_what_the_command_does() -> None:
    assert said("mcp__git__git_commit", "message") == "commit changes"
    assert said("git_status", "repo_path") == "show the state"
    assert said("git_create_branch") == "create a git branch"


def test_an_accent_made_of_two_characters_does_not_part_a_word() -> None:
    assert said("nai\u0308ve_search") == "na\u00efve search"


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("calculate", ("expression",), "calculate an expression"),
        ("Edit", ("file_path", "old_string"), "edit a file"),
        ("comment", ("comment_content", "tweet_id"), "comment on a tweet"),
        ("add_to_watchlist", ("stock",), "add a stock to the watchlist"),
        ("mean", ("numbers",), "get the mean of the numbers"),
        ("find_user_by_name_zip", ("first_name", "zip"), "find the user by name and zip"),
        ("find_user_by_email_address", ("email_address",), "find the user by email address"),
        ("MultiEdit", ("file_path", "edits"), "edit a file"),
        ("view", ("path",), "view a file"),
        ("delete", ("id",), "delete"),
        ("finish", ("message",), "finish"),
        ("Task", ("description", "prompt"), "run a task"),
        ("mv", ("source", "destination"), "move files"),
        ("find", ("order_id",), "find an order"),
        ("find", ("path", "name"), "find files"),
        ("browser_click", ("element", "ref"), "click an element with the browser"),
        ("browser_navigate", ("url",), "navigate to a URL with the browser"),
        ("browser_type", ("element", "ref", "text"), "type text with the browser"),
        ("browser_resize", ("width", "height"), "resize the browser"),
        ("browser_wait_for", ("text",), "wait for text with the browser"),
        ("mcp__playwright__click", ("element",), "click an element"),
    ],
)
def test_arguments_tell_what_a_bare_verb_is_about(tool: str, arguments: tuple[str, ...], told: str) -> None:
    assert said(tool, *arguments) == told


def test_names_are_written_as_the_tasks_write_them() -> None:
    assert said("open_github_issue", github="GitHub") == "open a GitHub issue"
    assert said("authenticate_twitter", twitter="Twitter") == "authenticate with Twitter"


@pytest.mark.parametrize(
    ("key", "line", "words"),
    [
        ("Bash:pg_restore", "pg_restore --list a.dump", "list a backup"),  # nothing is restored
        ("Bash:cargo fmt", "cargo fmt --all -- --check", "check the format"),
        ("Bash:git rebase", "GIT_EDITOR=true git rebase --continue", "continue the rebase"),
        ("Bash:git push", "git push --force-with-lease origin {branch}", "force-push commits"),
        ("Bash:ruff check", "uv run ruff check --fix .", "fix the code"),
        ("Bash:git push", "git push origin {branch}", "push commits"),
        ("Bash:git push", "git push origin -d {branch}", "delete a remote branch"),
        ("Bash:docker compose down", "docker compose down --volumes", "remove containers and their volumes"),
        ("Bash:git checkout", "git checkout -- src/a.py", "discard changes"),
        ("Bash:git checkout", "git checkout main", "switch the branch"),
        ("Bash:git branch", "git branch -m {old} {new}", "rename a branch"),
        ("Bash:git tag", "git tag -l 'v*'", "list tags"),
        ("Bash:tar", "tar -xzf a.tgz", "unpack files"),
        ("Bash:tar", "tar xzf a.tgz", "unpack files"),
        ("Bash:tar", "tar -czf a.tgz src", "pack files"),
        ("Bash:tar", "tar czf a.tgz src", "pack files"),
        ("Bash:gzip", "gzip -d a.gz", "unpack files"),
        ("Bash:sed", "sed -n 1,20p a.py", "show lines"),
        ("Bash:sed", "sed -i s/a/b/ a.py", "edit text"),
        ("Bash:crontab", "crontab -l", "list scheduled jobs"),
        ("Bash:git commit", "git commit -m '--amend'", "commit changes"),  # a text is no option
        ("Bash:terraform plan|terraform apply", "terraform plan -out=p && terraform apply p", "plan the changes"),
    ],
)
def test_options_that_make_something_else_of_a_program_are_read(key: str, line: str, words: str) -> None:
    assert " ".join(acts_of(key, [], {}, line)[0].words()) == words


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ("lint:fix", "fix the code"),
        ("lint:css", "check the css code"),
        ("format:check", "check the format"),
        ("build:docs", "build the documentation"),
        ("docs:build", "build the documentation"),
        ("lint:all", "check the code"),
        ("test:watch", "run the tests"),
        ("test:ci", "run the ci tests"),
        ("seed", "run the seed task"),
    ],
)
def test_a_projects_own_task_is_told_by_the_words_of_its_name(task: str, words: str) -> None:
    assert said(f"Bash:npm run {task}") == words


def test_a_command_line_is_told_by_what_its_programs_do() -> None:
    assert said("bash:find|xargs|wc") == "find files and count lines"
    assert said("bash:while|do|mv|done") == "move files"
    assert said("Bash:git commit") == "commit changes"
    assert said("Bash:git hash-object|mise") == "run git hash-object and run mise"
    assert said("bash:while|do|done") == "run a script"
    assert said("Bash:gh pr view|gh pr list") == "show a pull request and list pull requests"
    assert programs_of("bash:find|while|read|do|echo|done") == ["find"]


def test_tasks_of_a_projects_own_are_told_whatever_runs_them() -> None:
    assert said("Bash:mise run fmt|mise run lint") == "format the code and check the code"
    assert said("Bash:npm run test:ci|make docs") == "run the ci tests and build the documentation"
    assert said("Bash:just seed-db") == "run the seed db task"


@pytest.mark.parametrize(
    ("word", "told"), [("order", "an"), ("user", "a"), ("hour", "an"), ("API", "an"), ("URL", "a"), ("unit", "a")]
)
def test_the_article_goes_by_the_sound(word: str, told: str) -> None:
    assert article(word) == told


def test_a_list_has_a_comma_before_the_last_part_where_another_part_has_an_and() -> None:
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(["toggle a and b", "run c"]) == "toggle a and b, and run c"
    assert listed(["a", "b"], "or") == "a or b"
