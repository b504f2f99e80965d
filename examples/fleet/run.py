"""Three real Kafka clusters, asked together: `python run.py [DIR] [OPTIONS of kplan fleet]`.

They are started here, used by real clients, snapshotted, changed behind kplan's back, and stopped
again. What was written stays in DIR (fleet-live), the page about the fleet as fleet.html.
"""

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

KPLAN = (sys.executable, "-m", "kplan.cli.main")
SHAPES = {
    "shop": ("-security=sasl", "-log-allowed"),
    "stock": ("-security=tls", "-brokers=2", "-controllers=0"),
    "lab": (),
}
SMALL = (
    "-conf=spark.sql.shuffle.partitions=2",
    "-conf=spark.sql.codegen.wholeStage=false",
    "-conf=spark.sql.codegen.factoryMode=NO_CODEGEN",
    "-conf=spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1",
)
"""Settings of Spark for tables of a few rows: nothing is run often enough to be worth compiling."""
TOPIC = "shop.orders"
WITHIN_S = 30.0


class Play:
    """What happens in the folder of the fleet; `options` say which Spark works."""

    def __init__(self, folder: Path, options: list[str]) -> None:
        self.folder = folder
        self.options = options

    def sandboxes(self) -> None:
        """Start a cluster of each shape, all at once."""
        starting = {
            name: subprocess.Popen(
                [*KPLAN, "sandbox", "start", f"-folder=sandboxes/{name}", *shape],
                cwd=self.folder,
                stdout=subprocess.DEVNULL,
            )
            for name, shape in SHAPES.items()
        }
        if failed := [name for name, each in starting.items() if each.wait()]:
            sys.exit(f"These did not start: {', '.join(failed)}.")

    def stopped(self) -> None:
        """Stop what was started."""
        for name in SHAPES:
            line = [*KPLAN, "sandbox", "stop", f"-folder=sandboxes/{name}"]
            subprocess.run(line, cwd=self.folder, stdout=subprocess.DEVNULL, check=False)

    def kplan(self, line: str, where: str = ".", expected: int = 0) -> None:
        """Run kplan; the exit code proves it."""
        more = self.options if line.startswith("fleet") else []
        say(f"$ {'' if where == '.' else f'cd {where} && '}kplan {line}")
        code = subprocess.run(
            [*KPLAN, *line.split(), *more], cwd=self.folder / where, check=False
        ).returncode
        if code != expected:
            sys.exit(f"Exit code {expected} was expected here, not {code}.")

    def client(self, user: str) -> dict[str, str]:
        """Read the properties that the sandbox wrote for a user, in the words of librdkafka."""
        file = self.folder / "sandboxes" / "shop" / f"{user}.properties"
        found = dict(each.split("=", 1) for each in file.read_text().splitlines())
        login = dict(re.findall(r'(username|password)="([^"]*)"', found.pop("sasl.jaas.config")))
        return {**found, **{f"sasl.{name}": value for name, value in login.items()}}


def say(text: str) -> None:
    """Say what comes; it is to stand before what it speaks of."""
    sys.stdout.write(f"\n{text}\n")
    sys.stdout.flush()


def write(play: Play, user: str) -> None:
    """Write ten orders as a user; a refusal is told."""
    refused: list[str] = []
    producer = Producer(play.client(user))
    for number in range(10):
        producer.produce(
            TOPIC, b"%d" % number, on_delivery=lambda error, _: error and refused.append(str(error))
        )
    producer.flush(WITHIN_S)
    say(f"# {user} writes to {TOPIC}: {refused[0] if refused else '10 records'}")


def read(play: Play, user: str) -> None:
    """Read an order as a user, in a group of theirs, and say so to the group."""
    consumer = Consumer({**play.client(user), "group.id": f"shop.{user}"})
    try:
        consumer.assign([TopicPartition(TOPIC, each, OFFSET_BEGINNING) for each in range(3)])
        message = consumer.poll(WITHIN_S)
        if message is None or message.error():
            raise KafkaException(message and message.error())
        consumer.commit(message, asynchronous=False)
    finally:
        consumer.close()
    say(f"# {user} reads {TOPIC} in the group shop.{user}")


def meddle(play: Play) -> None:
    """Change a topic with another tool."""
    say(f"# Somebody sets retention.ms of {TOPIC} to an hour, by another tool.")
    entry = ConfigEntry("retention.ms", "3600000", incremental_operation=AlterConfigOpType.SET)
    changed = ConfigResource(ResourceType.TOPIC, TOPIC, incremental_configs=[entry])
    admin = AdminClient(play.client("admin"))
    admin.incremental_alter_configs([changed])[changed].result(WITHIN_S)


def plan_less(play: Play) -> None:
    """Plan to take alice's right to read away."""
    say("# A pull request takes alice's right to read orders away.")
    file = play.folder / "shop" / "main.tf"
    file.write_text(file.read_text().replace('["Read", "Write"]', '["Write"]'))
    play.kplan("plan -out=less.kplan", "shop")


def performed(play: Play) -> None:
    """Run every act, in order."""
    acts: tuple[Callable[[], None], ...] = (
        lambda: play.kplan("apply -auto-approve", "shop"),
        lambda: play.kplan("apply -auto-approve", "stock"),
        lambda: write(play, "alice"),
        lambda: read(play, "alice"),
        lambda: write(play, "bob"),
        lambda: play.kplan("fleet snapshot -run=morning"),
        lambda: meddle(play),
        lambda: play.kplan("fleet snapshot -run=noon"),
        lambda: play.kplan("fleet inventory -by=team -top=3"),
        lambda: play.kplan("fleet drift", expected=2),
        lambda: play.kplan("fleet drift -since=morning", expected=2),
        lambda: play.kplan(f"fleet access who-can READ TOPIC:{TOPIC}"),
        lambda: play.kplan("fleet lint", expected=2),
        lambda: play.kplan("fleet audit ingest"),
        lambda: play.kplan("fleet audit usage -removed=review"),
        lambda: plan_less(play),
        lambda: play.kplan("fleet replay shop/less.kplan", expected=3),
        lambda: play.kplan("fleet report -html=fleet.html"),
    )
    for act in acts:
        act()


def main() -> None:
    """Play it all in a folder of its own."""
    asked = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    asked.add_argument("folder", nargs="?", default="fleet-live", metavar="DIR")
    given, options = asked.parse_known_args()
    folder = Path(given.folder).absolute()
    if folder.exists():
        sys.exit(f"{folder} is there already: remove it, or name another folder.")
    shutil.copytree(Path(__file__).parent / "live", folder)
    play = Play(folder, options or list(SMALL))
    say("# Three clusters are started: logins by password, by certificate, and by nothing.")
    try:
        play.sandboxes()
        performed(play)
    finally:
        play.stopped()
    say(f"# The clusters are stopped. The page about them: {folder / 'fleet.html'}")


if __name__ == "__main__":
    main()
