"""What a user may type wrongly at `kplan fleet`, told before any Spark is started."""

from collections.abc import Mapping

import pytest

from kplan.cli.run import run

REFUSED: Mapping[tuple[str, ...], str] = {
    ("inventory", "-master=local", "-remote=sc://x:1"): "-master and -remote name two Sparks.",
    ("access", "of", "billing"): 'billing" is no principal. hint: Write it as User:billing.',
    ("access", "who-can", "READ"): "It is: kplan fleet access who-can OPERATION RESOURCE.",
    ("audit", "ingest", "-removed=x"): "What nobody used is not told by ingest.",
    ("audit", "ingest", "-since=1h"): "What nobody used is not told by ingest.",
    ("audit", "usage", "-since=30d"): "-since=30d is no span of time.",
    ("replay", "-since=9999999h", "x"): "-since=9999999h is longer than a hundred years.",
    ("vacuum", "-keep="): "-keep is empty. hint: Write it as 720h.",
}


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_what_means_nothing_is_refused_at_once(
    words: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["fleet", *words], {}) == 1
    told = " ".join(capfd.readouterr().err.replace("│", " ").split())
    assert REFUSED[words] in told
