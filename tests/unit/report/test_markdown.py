"""The comment on a pull request: whole where it fits, and honest where it does not."""

import re
from functools import cache

import pytest

from kplan.model.plan import Plan
from kplan.policy.risk import add_risks
from kplan.report.document import Document, Item, Mark, Paragraph, Row, Totals, line
from kplan.report.formats.fit import TextPiece, fit_pieces, piece_size
from kplan.report.formats.markdown import (
    LIMITS,
    code_markdown,
    prose_markdown,
    render_markdown,
)
from kplan.report.subject import plan_report
from tests.values import make_plan, owned, resource, snapshot, state, topic


@cache
def big_plan(destroyed: int, created: int) -> Plan:
    held = [
        owned(f"kafka_topic.old{number}", topic(f"old.{number}"), str(number))
        for number in range(destroyed)
    ]
    live = [(topic(f"old.{number}"), str(number)) for number in range(destroyed)]
    wanted = [
        resource(f"kafka_topic.new{number}", topic(f"new.{number}", partitions=number + 1))
        for number in range(created)
    ]
    return add_risks(make_plan(wanted, state(*held), snapshot(live)))


def comment(plan: Plan, limit: int = LIMITS["github"]) -> str:
    return render_markdown(plan_report(plan, {}, "").document(), limit)


@pytest.mark.parametrize("service", sorted(LIMITS))
@pytest.mark.parametrize(("destroyed", "created"), [(3, 3), (300, 1500)])
def test_a_comment_has_room_and_names_all_that_is_destroyed(
    service: str, destroyed: int, created: int
) -> None:
    text = comment(big_plan(destroyed, created), LIMITS[service])
    assert len(text.encode()) <= LIMITS[service]
    for number in range(destroyed):
        assert re.search(rf"kafka_topic\.old{number}\b", text)
    assert f"Plan: {created} to add, 0 to change, {destroyed} to destroy." in text


def test_what_is_destroyed_stands_first_whole_and_in_sight() -> None:
    text = comment(big_plan(40, 3000))
    grave, _, rest = text.partition("<details>")
    assert grave.count('- resource "kafka_topic" "old') == 40
    assert grave.count("DANGEROUS  KP2101 every record of the topic is lost") == 40
    assert "3,000 to create" in rest
    assert "- `kafka_topic.new0`" in rest


def test_what_has_no_room_is_named_and_what_cannot_be_named_is_counted() -> None:
    text = comment(big_plan(40, 3000), 30_000)
    assert len(text) <= 30_000
    named = len(re.findall(r"^- `kafka_topic\.new\d+`$", text, re.MULTILINE))
    whole = text.count('+ resource "kafka_topic"')
    (left_out,) = re.findall(r"and ([\d,]+) more, left out for size", text)
    assert named + whole + int(left_out.replace(",", "")) == 3000
    assert named > 300


def test_more_deletes_than_any_comment_can_name_are_counted_in_sight() -> None:
    text = comment(big_plan(2000, 10), 20_000)
    assert len(text) <= 20_000
    before_folds = text.partition("<details>")[0]
    assert re.search(r"\*\*and [\d,]+ more, left out for size\*\*", before_folds)
    assert "Plan: 10 to add, 0 to change, 2000 to destroy." in text


def test_a_short_plan_has_no_folds() -> None:
    assert "<details>" not in comment(big_plan(1, 1))
    assert "<details>" in comment(big_plan(1, 10))


def test_names_cannot_leave_their_fence_nor_call_anybody() -> None:
    """Topic names are tame, but principals and config values are not."""
    evil = "x\n```\n<img src=x> @octocat **b**"
    rows = (Row(line(f"value = {evil}"), Mark.ADD),)
    document = Document(
        (
            Item("kafka_topic.`a`", (line("# comes"),), rows, mark=Mark.ADD),
            Paragraph("@octocat <script> [x](y) | a_b"),
            Totals((line("Plan"),)),
        )
    )
    text = render_markdown(document)
    opening = re.findall(r"^(`{3,})diff$", text, re.MULTILINE)
    closing = [each for each in text.splitlines() if re.fullmatch("`{3,}", each)]
    assert opening == closing
    outside = re.sub(r"(?s)(`{3,})diff.*?\1", "", text)
    assert "<script>" not in outside.replace("\\<", "")
    assert not re.search(r"(?<!\w)@\w", outside)


def test_prose_means_itself() -> None:
    assert prose_markdown("a_b *c* <d> `e` | #1 & ~f~") == (
        r"a\_b \*c\* \<d\> \`e\` \| \#1 \& \~f\~"
    )
    assert prose_markdown("by @octocat, not a@b.c") == "by @\u200boctocat, not a@b.c"
    assert code_markdown("a`b") == "``a`b``"
    assert code_markdown("`a`") == "`` `a` ``"


def test_nothing_to_say_is_no_comment() -> None:
    assert render_markdown(Document(())) == ""


def test_pieces_are_shortened_from_the_end() -> None:
    pieces = [TextPiece(("long one", "1")), TextPiece(("long two", "2")), TextPiece(("3",))]
    assert fit_pieces(pieces, 100) == ("long one", "long two", "3")
    assert fit_pieces(pieces, 16) == ("long one", "2", "3")
    assert fit_pieces(pieces, 9) == ("1", "2", "3")
    assert fit_pieces(pieces, 8) == ("1", "2", "")
    assert fit_pieces(pieces, 0) == ("", "", "")
    assert piece_size("é") == 2
