"""Runs of the fleet that say since when ACLs exist."""

from datetime import UTC, datetime, timedelta

from kplan.cli.fleet.command import parse_duration
from kplan.cli.fleet.fleet import KEPT_RUNS
from kplan.fleet.recommend import CONFIDENCE_DAYS
from kplan.fleet.store import Run
from kplan.workflow.fleet.recommend import runs_by_age

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)


def run(days: float) -> Run:
    return Run(f"-{days}", f"-{days}", (NOW - timedelta(days=days)).isoformat())


def test_an_acl_that_is_as_old_as_the_window_is_found_in_a_run_of_that_age() -> None:
    """Ages of a week and a month only would keep an ACL of five days for two days too long."""
    daily = [run(days) for days in range(9, -1, -1)]
    chosen = {each.run for each in runs_by_age(daily, daily[-1], NOW, timedelta(days=4))}
    within = {"-0", "-1", "-2", "-3"}
    assert {"-4", "-5", "-9", "-7", *within} == chosen


def test_the_last_run_of_each_day_within_the_window_is_asked() -> None:
    """An ACL that was deleted on one of them and added again is a new one."""
    hourly = [run(hours / 24) for hours in range(24 * 9, -1, -1)]
    chosen = runs_by_age(hourly, hourly[-1], NOW, timedelta(days=4))
    days = [each.at[:13] for each in sorted(chosen, key=lambda each: each.at)]
    assert days == [
        *("2026-11-15T12", "2026-11-17T12", "2026-11-19T12", "2026-11-20T12"),
        *("2026-11-20T23", "2026-11-21T23", "2026-11-22T23", "2026-11-23T23", "2026-11-24T12"),
    ]


def test_no_more_runs_are_asked_than_a_number_has_bits() -> None:
    daily = [run(days) for days in range(400, -1, -1)]
    chosen = {each.run for each in runs_by_age(daily, daily[-1], NOW, timedelta(days=100))}
    assert len(chosen) == 62
    assert {"-0", "-1", "-50", "-100", "-101", "-365", "-400"} <= chosen


def test_runs_are_kept_long_enough_for_high_confidence() -> None:
    """Each day a run is taken, and maintain deletes old ones a minute later."""
    keep = parse_duration("-keep", KEPT_RUNS)
    assert keep is not None
    oldest = max(days for days in range(999) if timedelta(days=days, minutes=1) <= keep)
    watched = oldest - 1  # from the day after that run until yesterday
    assert watched >= CONFIDENCE_DAYS["high"]


def test_later_runs_than_the_one_asked_for_say_nothing() -> None:
    daily = [run(days) for days in range(9, -1, -1)]
    assert max(each.at for each in runs_by_age(daily, daily[4], NOW, timedelta(days=1))) == (
        daily[4].at
    )


def test_a_run_that_is_not_whole_in_the_store_is_still_asked() -> None:
    assert runs_by_age((), run(0), NOW, timedelta(days=4)) == [run(0)]
