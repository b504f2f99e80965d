"""Drift as a service: what is accepted, what is counted, who is told, and when."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kplan.cli.run import run
from kplan.cluster.request import ConfigAlteration, NewTopic
from kplan.model.errors import UnreachableError
from tests.http_server import Request, serve_http
from tests.unit.cli.memory_command import MemoryCommand, memory_command, send_interrupt

Capture = pytest.CaptureFixture[str]
GAUGE = re.compile(r'[a-z_]+\{[a-z_]+="[^"]*"(?:,[a-z_]+="[^"]*")*\} -?[\d.e+]+')


class Listener:
    """A web server that remembers what it was told."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str, str]] = []
        self.code = 200
        self.url = ""


@pytest.fixture
def listener() -> Iterator[Listener]:
    heard = Listener()

    def answered(asked: Request) -> tuple[int, str]:
        heard.heard.append((asked.method, asked.path, asked.body))
        return heard.code, ""

    with serve_http(answered) as heard.url:
        yield heard


@pytest.fixture
def desk(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> MemoryCommand:
    found = memory_command(tmp_path, capsys, monkeypatch)
    found.run("apply", "-auto-approve")
    return found


def meddle(desk: MemoryCommand, value: str = "77") -> None:
    desk.cluster.alter_topic_configs([ConfigAlteration("orders", {"retention.ms": value})])


def test_health_of_the_owned_topics_is_told_counted_and_an_exit_code(
    desk: MemoryCommand,
) -> None:
    """A cron job learns of partitions without a leader or with too few replicas."""
    desk.cluster.create_topics([NewTopic("foreign", assignment=((1,),))])
    assert "every partition has a leader" in desk.run("drift", "-health")
    assert json.loads(desk.run("drift", "-json"))["health"] is None
    desk.cluster.stop_brokers(1)
    assert "not healthy" not in desk.run("drift")
    shown = desk.run(
        "drift", "-health", "-report=prometheus=metrics", "-report=sarif=found.sarif", code=2
    )
    assert "orders: " in shown
    assert "broker 1 offline" in shown
    assert "foreign" not in shown  # someone else's
    told = json.loads(desk.run("drift", "-health", "-json", code=2))
    (orders,) = [each for each in told["health"] if each["topic"] == "orders"]
    assert orders["under_replicated"] > 0
    assert orders["offline_brokers"] == [1]
    metrics = (desk.folder / "metrics").read_text()
    assert 'kplan_unhealthy_topics{cluster="' in metrics
    assert f" {orders['under_replicated']}\n" in metrics
    results = json.loads((desk.folder / "found.sarif").read_text())["runs"][0]["results"]
    said = [each["message"]["text"] for each in results if each["ruleId"] == "KP2505"]
    assert [each.partition(": ")[0] for each in said] == [each["topic"] for each in told["health"]]


def looks(monkeypatch: pytest.MonkeyPatch, *between: Callable[[], object]) -> list[float]:
    """Do something in each pause of -watch, and press Ctrl-C in the one after the last."""
    pauses: list[float] = []
    left = iter(between)

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        next(left, send_interrupt)()

    monkeypatch.setattr("kplan.cli.plan.drift.time.sleep", pause)
    return pauses


def test_coverage_tells_managed_unmanaged_and_missing(desk: MemoryCommand) -> None:
    """K4o-07."""
    desk.cluster.create_topics([NewTopic("somebody.elses", 1, 1)])
    desk.cluster.create_topics([NewTopic("__consumer_offsets", 1, 1)])
    text = desk.run("drift")
    assert "Managed by kplan: kafka_acl 1 of 1, kafka_topic 2 of 3 (75% of all)." in text
    assert "somebody.elses" not in text
    assert "kafka_topic/somebody.elses" in desk.run("drift", "-unmanaged")
    found = json.loads(desk.run("drift", "-json"))
    assert found["coverage"] == 0.75
    assert found["unmanaged_objects"]["kafka_topic"] == ["somebody.elses"]
    assert found["missing"] == {}


def test_drift_tells_who_applied_last_and_when(desk: MemoryCommand) -> None:
    """Kafka does not say who changed something; what kplan knows is what was there before."""
    text = " ".join(desk.run("drift").split())
    assert re.search(
        r"Last applied \d{4}-\d\d-\d\dT\S+ by \S+, checksum \S+, state serial 1\.", text
    )
    last = json.loads(desk.run("drift", "-json"))["last_apply"]
    assert last["serial"] == 1
    assert last["by"]


def test_what_is_accepted_is_no_drift(desk: MemoryCommand) -> None:
    meddle(desk)
    (desk.folder / "drift.ignore").write_text("# the retention bot\nkafka_topic/orders config.*\n")
    text = desk.run("drift", "-ignore=drift.ignore", code=0)
    assert "Ignored: 1 object" in text
    assert "No drift." in text
    (desk.folder / "drift.ignore").write_text("kafka_topic/orders config.*\n", "utf-8-sig")
    desk.run("drift", "-ignore=drift.ignore", code=0)
    assert "cannot be read" in desk.run_failing("drift", "-ignore=nowhere")
    (desk.folder / "drift.ignore").write_bytes(b"\xff\n")
    assert "is not UTF-8" in desk.run_failing("drift", "-ignore=drift.ignore")
    (desk.folder / "drift.ignore").write_text("a b c d\n")
    assert "No pattern on drift.ignore:1" in desk.run_failing("drift", "-ignore=drift.ignore")


def test_metrics_are_in_the_form_of_prometheus(desk: MemoryCommand) -> None:
    meddle(desk)
    desk.run("drift", "-report=prometheus=kplan.prom", code=2)
    lines = (desk.folder / "kplan.prom").read_text().splitlines()
    numbers = [each for each in lines if not each.startswith("#")]
    assert all(GAUGE.fullmatch(each) for each in numbers), numbers
    families = list(text_string_to_metric_families("\n".join(lines) + "\n"))
    assert sum(len(each.samples) for each in families) == len(numbers)
    assert {each.type for each in families} == {"gauge"}
    helped = [each.split()[2] for each in lines if each.startswith("# HELP")]
    typed = [each.split()[2] for each in lines if each.startswith("# TYPE")]
    assert helped == typed == list(dict.fromkeys(each.partition("{")[0] for each in numbers))
    told = dict(each.rsplit(" ", 1) for each in numbers)
    cluster = desk.cluster.describe().cluster_id
    label = f'cluster="{cluster}",kind="kafka_topic"'
    assert told[f'kplan_drift_objects{{{label},change="changed"}}'] == "1"
    assert told[f'kplan_drift_objects{{{label},change="deleted"}}'] == "0"
    assert told[f"kplan_managed_objects{{{label}}}"] == "2"
    run = f'{{cluster="{cluster}",verb="drift"}}'
    assert told[f"kplan_run_success{run}"] == "1"
    assert float(told[f"kplan_run_timestamp_seconds{run}"]) > 1.7e9


def test_every_metric_names_the_cluster_as_people_do(desk: MemoryCommand) -> None:
    named = {"KPLAN_CLUSTER_NAME": "prod-eu"}
    for verb in ("drift", "plan"):
        assert run([verb, "-report=prometheus=kplan.prom", "-report=md=kplan.md"], named) == 0
        lines = (desk.folder / "kplan.prom").read_text().splitlines()
        assert all('cluster="prod-eu"' in each for each in lines if not each.startswith("#"))
        assert (desk.folder / "kplan.md").read_text().partition("\n")[0].endswith(" prod-eu")


def test_a_run_that_could_not_tell_is_a_metric_too(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> None:
        raise UnreachableError("nobody answers")

    monkeypatch.setattr("kplan.cli.wiring._connect", gone)
    assert run(["drift", "-report=prometheus=kplan.prom"], {"KPLAN_CLUSTER_NAME": "prod-eu"}) == 1
    metric = 'kplan_run_success{cluster="prod-eu",verb="drift"} 0'
    assert metric in (desk.folder / "kplan.prom").read_text()


def test_drift_is_told_to_a_webhook_and_no_drift_is_not(
    desk: MemoryCommand, listener: Listener
) -> None:
    desk.run("drift", f"-notify={listener.url}/hook/s3cret")
    assert listener.heard == []
    meddle(desk)
    desk.run("drift", f"-notify={listener.url}/hook/s3cret", code=2)
    ((method, path, body),) = listener.heard
    assert (method, path) == ("POST", "/hook/s3cret")
    text = json.loads(body)["text"]
    assert text.startswith("*kplan drift of ")
    assert "Drift: 1 changed, 0 deleted." in text
    assert '`kafka_topic.t["orders"]`: Changed outside of kplan' in text


def test_numbers_are_put_to_a_push_gateway(desk: MemoryCommand, listener: Listener) -> None:
    desk.run("drift", f"-push={listener.url}")
    desk.run("drift", f"-push={listener.url}/metrics/job/mine/cluster/eu")
    assert [(each[0], each[1]) for each in listener.heard] == [
        ("PUT", "/metrics/job/kplan_drift"),
        ("PUT", "/metrics/job/mine/cluster/eu"),
    ]
    assert listener.heard[0][2].startswith("# HELP kplan_drift_objects ")


@pytest.mark.parametrize(("is_up", "said"), [(True, "HTTP 500"), (False, "refused")])
def test_what_nobody_takes_is_told_and_changes_no_result(
    is_up: bool, said: str, desk: MemoryCommand, listener: Listener
) -> None:
    """The address is a secret: only its host is shown."""
    listener.code = 500
    url = f"{listener.url}/hook/s3cret" if is_up else "http://127.0.0.1:1/hook/s3cret"
    meddle(desk)
    told = desk.run_failing("drift", f"-notify={url}", f"-push={url}", code=2)
    assert told.count(said) == 2
    assert "127.0.0.1" in told
    assert "s3cret" not in told


def test_addresses_come_from_the_environment_too(desk: MemoryCommand, listener: Listener) -> None:
    meddle(desk)
    environ = {"KPLAN_NOTIFY": f"{listener.url}/n", "KPLAN_PUSH": f"{listener.url}/p"}
    assert run(("drift",), environ) == 2
    assert sorted(each[1] for each in listener.heard) == ["/n", "/p"]
    desk.capture.readouterr()
    assert "requires an http:// or https:// URL" in desk.run_failing(
        "drift", "-notify=file:///etc/passwd"
    )
    assert "requires an http:// or https:// URL" in desk.run_failing("drift", "-push=gateway:9091")
    assert "requires an http:// or https:// URL" in desk.run_failing("drift", "-push=http://[::1")
    assert "requires an http:// or https:// URL" in desk.run_failing(
        "drift", "-push=http://gateway:port"
    )


def test_a_watch_tells_what_is_new_and_ends_with_a_signal(
    desk: MemoryCommand, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses = looks(
        monkeypatch,
        lambda: meddle(desk),
        lambda: None,
        lambda: meddle(desk, "86400000"),
        lambda: None,
    )
    out = desk.run("drift", "-watch", "-interval=2m", f"-notify={listener.url}/n", code=130)
    assert pauses == [120.0] * 5
    verdicts = re.findall(r"^(?:No drift|Drift: .*?)\.", out, re.MULTILINE)
    assert verdicts == ["No drift.", "Drift: 1 changed, 0 deleted.", "No drift."]
    told = [json.loads(each[2])["text"].splitlines()[1] for each in listener.heard]
    assert told == [
        "Drift: 1 changed, 0 deleted.",
        "No drift. What kplan owns is as it was last applied.",
    ]


def test_a_watch_outlives_a_cluster_that_is_away(
    desk: MemoryCommand, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Away:
        is_away = False

    def connected(*_: object) -> object:
        if Away.is_away:
            raise UnreachableError("nobody answers")
        return desk.cluster

    monkeypatch.setattr("kplan.cli.wiring._connect", connected)
    looks(
        monkeypatch,
        lambda: setattr(Away, "is_away", True),
        lambda: None,
        lambda: setattr(Away, "is_away", False),
    )
    told = desk.run_failing("drift", "-watch", f"-notify={listener.url}/n", code=130)
    assert told.count("Cannot reach the cluster") == 1
    assert len(listener.heard) == 2
    assert "Cannot reach the cluster" in listener.heard[0][2]


def test_a_watch_for_machines_writes_a_line_for_what_is_new(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks(monkeypatch, lambda: meddle(desk), lambda: None)
    lines = desk.run("drift", "-watch", "-json", code=130).splitlines()
    assert [json.loads(each)["drifted"] for each in lines] == [False, True]
    assert "must be 1s or more" in desk.run_failing("drift", "-watch", "-interval=10ms")
