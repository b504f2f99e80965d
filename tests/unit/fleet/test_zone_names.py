"""Short names of time zones: those that are read mean one time only."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo, available_timezones

import kplan
from kplan.fleet.logs.times import ZONE_OFFSETS

HELP = Path(kplan.__file__).parent / "cli" / "help" / "fleets.md"
YEARS = range(2019, 2036)


def test_a_short_name_that_is_read_has_one_offset_in_all_zones() -> None:
    moments = [datetime(year, month, 1, tzinfo=UTC) for year in YEARS for month in (1, 7)]
    offsets: dict[str | None, set[timedelta | None]] = {}
    for name in available_timezones() - {"localtime", "Factory"}:
        zone = ZoneInfo(name)
        for at in moments:
            local = at.astimezone(zone)
            offsets.setdefault(local.tzname(), set()).add(local.utcoffset())
    written = {
        name: datetime.strptime(offset, "%z").utcoffset() for name, offset in ZONE_OFFSETS.items()
    }
    of_java = {"UT", "SGT"}
    assert written.keys() - offsets.keys() <= of_java
    assert {name: offsets[name] for name in written.keys() - of_java} == {
        name: {offset} for name, offset in written.items() if name not in of_java
    }
    assert not ZONE_OFFSETS.keys() & {"AST", "BST", "CDT", "CST", "IST", "PDT", "PST"}


def test_the_help_lists_the_short_names_of_zones_that_are_read() -> None:
    text = " ".join(HELP.read_text(encoding="utf-8").split())
    assert f"one meaning ({' '.join(sorted(ZONE_OFFSETS))})" in text
