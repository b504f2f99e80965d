"""`kplan drift -watch` as a service on a real broker."""

import signal
from contextlib import closing
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kplan.cluster.request import ConfigAlteration
from tests.e2e.commands import start
from tests.e2e.places import Place, until

pytestmark = pytest.mark.broker


def drifted(file: Path) -> dict[str, float]:
    """Read the metrics as Prometheus does: objects of topics by what became of them."""
    found = {}
    for family in text_string_to_metric_families(file.read_text()):
        for each in family.samples:
            if each.name == "kplan_drift_objects" and each.labels["kind"] == "kafka_topic":
                found[each.labels["change"]] = each.value
    return found


def test_a_service_tells_a_drift_when_it_comes_and_when_it_is_gone(place: Place) -> None:
    place.run("apply", "-auto-approve")
    file, log = place.folder / "kplan.prom", place.folder / "watch.txt"
    with log.open("w") as out:
        watching = start(
            place.folder, "drift", "-watch", "-interval=1s", f"-report=prometheus={file}",
            env=place.env, stdout=out,
        )  # fmt: skip
        try:
            until(file.exists)
            assert drifted(file) == {"changed": 0, "deleted": 0, "recreated": 0}
            with closing(place.cluster()) as cluster:
                topic = f"{place.prefix}.a"
                cluster.alter_topic_configs([ConfigAlteration(topic, {"retention.ms": "1000"})])
                until(lambda: drifted(file)["changed"] == 1)
                day = {"retention.ms": "86400000"}
                cluster.alter_topic_configs([ConfigAlteration(topic, day)])
                until(lambda: drifted(file)["changed"] == 0)
        finally:
            watching.send_signal(signal.SIGTERM)
            _, told = watching.communicate(timeout=60)
    assert watching.returncode == 128 + signal.SIGTERM, told
    assert log.read_text().count("retention.ms") == 1
    place.run("destroy", "-auto-approve")
