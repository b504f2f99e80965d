"""What a report says to its reader elsewhere: where things are, what they are called."""

import json

import pytest

from kplan.cli.report.ci_links import ci_links
from kplan.model.diagnostic import SourceRange
from kplan.report.format import Format
from kplan.report.links import NO_LINKS, Links
from kplan.report.render import FormatOptions, render_report
from kplan.report.subject import plan_report
from tests.unit.report.test_markdown import big_plan

SHA = "0123456789abcdef0123456789abcdef01234567"
GITHUB = {
    "CI": "true",
    "GITHUB_SERVER_URL": "https://github.example",
    "GITHUB_REPOSITORY": "acme/kafka",
    "GITHUB_RUN_ID": "42",
    "GITHUB_SHA": SHA,
}
GITLAB = {
    "GITLAB_CI": "true",
    "CI_JOB_URL": "https://gitlab.example/acme/kafka/-/jobs/7",
    "CI_PROJECT_URL": "https://gitlab.example/acme/kafka",
    "CI_COMMIT_SHA": SHA,
}
AZURE = {
    "TF_BUILD": "True",
    "SYSTEM_COLLECTIONURI": "https://dev.azure.example/acme/",
    "SYSTEM_TEAMPROJECT": "kafka",
    "BUILD_BUILDID": "7",
    "BUILD_SOURCEVERSION": SHA,
    "BUILD_REPOSITORY_URI": "https://dev.azure.example/acme/_git/kafka",
}
BITBUCKET = {
    "BITBUCKET_BUILD_NUMBER": "7",
    "BITBUCKET_GIT_HTTP_ORIGIN": "https://bitbucket.example/acme/kafka",
    "BITBUCKET_COMMIT": SHA,
}
PLACE = SourceRange("a b.tf", 3, 1, 3, 9)


@pytest.mark.parametrize(
    ("environ", "run", "line"),
    [
        (
            GITHUB,
            "https://github.example/acme/kafka/actions/runs/42",
            f"https://github.example/acme/kafka/blob/{SHA}/eu/a%20b.tf#L3",
        ),
        (
            GITLAB,
            "https://gitlab.example/acme/kafka/-/jobs/7",
            f"https://gitlab.example/acme/kafka/-/blob/{SHA}/eu/a%20b.tf#L3",
        ),
        (
            AZURE,
            "https://dev.azure.example/acme/kafka/_build/results?buildId=7",
            (
                "https://dev.azure.example/acme/_git/kafka?path=/eu/a%20b.tf"
                f"&version=GC{SHA}&line=3&lineEnd=3&lineStartColumn=1"
            ),
        ),
        (
            BITBUCKET,
            "https://bitbucket.example/acme/kafka/pipelines/results/7",
            f"https://bitbucket.example/acme/kafka/src/{SHA}/eu/a%20b.tf#lines-3",
        ),
    ],
    ids=["github", "gitlab", "azure", "bitbucket"],
)
def test_each_service_has_its_addresses(environ: dict[str, str], run: str, line: str) -> None:
    found = ci_links(environ, "eu/")
    assert (found.run, found.line_address(PLACE)) == (run, line)
    assert SHA in found.commit


def test_outside_of_ci_there_are_no_links() -> None:
    assert ci_links({"GITHUB_SHA": SHA}, "") == NO_LINKS


def test_what_is_no_address_is_left_out() -> None:
    """A variable may hold what somebody else wrote."""
    evil = {**GITHUB, "GITHUB_REPOSITORY": "x)<script>", "KPLAN_REPORT_URL": "javascript:alert(1)"}
    found = ci_links(evil, "")
    assert (found.run, found.commit, found.line, found.page) == ("", "", "", "")
    branch = ci_links({**GITHUB, "GITHUB_SHA": "main](x)"}, "")
    assert (branch.revision, branch.commit, branch.line) == ("", "", "")


def test_a_file_out_of_the_repository_has_no_address() -> None:
    links = ci_links(GITHUB, "")
    for file in ("/etc/x.tf", "../x.tf"):
        assert links.line_address(SourceRange(file, 1, 1, 1, 1)) == ""


def test_a_pull_request_is_linked_by_its_head(tmp_path_factory: pytest.TempPathFactory) -> None:
    """GITHUB_SHA of a pull request is a merge commit that no branch has."""
    event = tmp_path_factory.mktemp("event") / "event.json"
    head = "f" * 40
    event.write_text(json.dumps({"pull_request": {"head": {"sha": head}}}))
    named = {"GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": str(event)}
    assert ci_links({**GITHUB, **named}, "").revision == head
    event.write_text("[[")
    assert ci_links({**GITHUB, **named}, "").revision == SHA


LINKS = Links(
    run="https://ci.example/1",
    commit="https://ci.example/c",
    revision=SHA,
    page="https://ci.example/page",
    line="https://ci.example/{path}#{line}",
    apply_hint="Merge it; the job apply asks team_kafka.",
)


def rendered(format_: Format, links: Links = LINKS) -> str:
    return render_report(plan_report(big_plan(1, 3), {}, ""), format_, FormatOptions(links=links))


def test_a_comment_links_to_run_commit_page_and_lines_and_says_who_applies() -> None:
    text = rendered(Format.MARKDOWN)
    assert "[Run](<https://ci.example/1>) | [Commit 0123456](<https://ci.example/c>)" in text
    assert "[Report](<https://ci.example/page>)" in text
    assert "Merge it; the job apply asks team\\_kafka." in text
    assert "[`kafka_topic.new0`](<https://ci.example/main.tf#" in text
    assert "ci.example" not in rendered(Format.MARKDOWN, NO_LINKS)


def test_a_page_has_the_same_links() -> None:
    text = rendered(Format.HTML)
    assert '<a href="https://ci.example/1">Run</a>' in text
    assert '<a class="source" href="https://ci.example/main.tf#' in text
    assert "<a " not in rendered(Format.HTML, NO_LINKS)


def test_chats_name_the_first_changes_and_those_that_destroy_before_others() -> None:
    told = json.loads(rendered(Format.SLACK))["text"].split("\n")
    changes = [each for each in told if each.startswith("\u2022")]
    assert "will be destroyed" in changes[0]
    assert any("will be created" in each for each in changes[1:])
    long = render_report(plan_report(big_plan(0, 40), {}, ""), Format.SLACK, FormatOptions())
    assert "and 30 more" in long


def test_chats_have_blocks_and_buttons() -> None:
    slack = json.loads(rendered(Format.SLACK))
    assert [each["type"] for each in slack["blocks"]] == ["header", "section", "actions"]
    buttons = [each["url"] for each in slack["blocks"][-1]["elements"]]
    assert buttons == ["https://ci.example/1", "https://ci.example/c", "https://ci.example/page"]
    assert "Plan: 3 to add" in slack["text"]
    (attachment,) = json.loads(rendered(Format.TEAMS))["attachments"]
    card = attachment["content"]
    assert card["type"] == "AdaptiveCard"
    assert [each["url"] for each in card["actions"]] == buttons
    assert any("Plan: 3 to add" in each["text"] for each in card["body"])
    assert "actions" not in rendered(Format.TEAMS, NO_LINKS)
