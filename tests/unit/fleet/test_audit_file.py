"""Which log is which after it was rotated, and which were read as they are."""

from kplan.fleet.audit import LogFile, LogStart, log_file_ids, new_log_files


def start(source: str, first: str | None = "10:00 a", lines: int = 3) -> LogStart:
    return LogStart("eu", source, first, lines)


def test_a_log_that_was_rotated_or_packed_is_the_same() -> None:
    names = ("x.log", "x.log.1", "x.log.2.gz", "x.log-20261101", "x.log.2026-11-01-10.zst")
    found = [log_file_ids([start(f"file:/logs/{name}")]).popitem()[1] for name in names]
    assert len(set(found)) == 1


def test_other_logs_are_others() -> None:
    """Of another broker or cluster, with another first request, or of a topic."""
    found = [
        start("file:/logs/x.log"),
        start("file:/logs/b1-x.log"),
        start("file:/logs/b1/x.log"),
        start("file:/logs.log/x.log"),
        start("file:/logs/x.log.1", "11:00 a"),
        start("file:/logs/x", "11:00 a"),
        start("kafka://x/0@10"),
        start("kafka://x/0@20"),
        LogStart("us", "file:/logs/x.log", "10:00 a", 3),
    ]
    named = log_file_ids(found)
    assert set(named) == {(each.cluster, each.source) for each in found}
    assert len({(place[0], file) for place, file in named.items()}) == len(found)


def test_of_two_that_are_the_same_the_longer_is_there() -> None:
    """As while one is packed."""
    half, whole = start("file:/x.log.1.gz", lines=2), start("file:/x.log.1", lines=3)
    assert (
        list(log_file_ids([whole, half]))
        == list(log_file_ids([half, whole]))
        == [("eu", "file:/x.log.1")]
    )


def test_a_log_without_a_request_is_known_by_its_name() -> None:
    found = log_file_ids([start("file:/x.log", None), start("file:/x.log.1", None)])
    assert len(set(found.values())) == 2


def test_what_was_read_as_it_is_is_left_out() -> None:
    logs = [LogFile("/a", "file:/a", "1 1"), LogFile("/b", "file:/b", "1 1")]
    assert new_log_files(logs, {("file:/a", "1 1"), ("file:/b", "1 2")}) == logs[1:]
