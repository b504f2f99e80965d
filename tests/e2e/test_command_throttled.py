"""The installed command under a controller mutation quota (KIP-599)."""

import json

import pytest

from kplan.sandbox.record import Sandbox
from tests.e2e.places import Place
from tests.soak.large import mutation_quota

pytestmark = pytest.mark.broker

RATE = 10.0
"""A full bucket lets 11 s of it through at once."""

MANY = """
provider "kafka" {{}}
resource "kafka_topic" "t" {{
  count              = 30
  name               = "{prefix}.${{count.index}}"
  partitions         = 4
  replication_factor = 1
}}
"""


def test_an_apply_and_a_destroy_finish_although_they_are_throttled(
    place: Place, broker: Sandbox
) -> None:
    """Trap 8: only what was refused is sent again, after the time that the broker names."""
    place.write(MANY.format(prefix=place.prefix))
    with mutation_quota(broker.bootstrap_servers, RATE):
        for words in (("apply", "-broker-validate=false"), ("destroy",)):
            told = place.run(*words, "-auto-approve", "-json").splitlines()
            items = [each["item"] for each in map(json.loads, told) if each["type"] == "apply_item"]
            assert [each["status"] for each in items] == ["ok"] * 30
            attempts = sorted(each["attempts"] for each in items)
            assert attempts[0] == 1, "what was accepted is not sent again"
            assert attempts[-1] > 1, "what was refused is"
    assert place.run("state", "list") == ""
