"""A fleet of three real Kafka clusters: `python run.py [DIR] [OPTIONS of kplan fleet]`.

The script starts the clusters, uses them with real clients, reads snapshots, changes a topic
outside kplan, and stops the clusters. It keeps its files in DIR (fleet-live), with the report
fleet.html.
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
CLUSTERS = {
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
"""Settings of Spark for small tables: no code runs often enough to benefit from compilation."""
TOPIC = "shop.orders"
TIMEOUT_S = 30.0


class Example:
    """Commands in the folder of the fleet; `options` select the Spark."""

    def __init__(self, folder: Path, options: list[str]) -> None:
        self.folder = folder
        self.options = options

    def start_clusters(self) -> None:
        """Start all clusters concurrently."""
        starting = {
            name: subprocess.Popen(
                [*KPLAN, "sandbox", "start", f"-folder=sandboxes/{name}", *options],
                cwd=self.folder,
                stdout=subprocess.DEVNULL,
            )
            for name, options in CLUSTERS.items()
        }
        if failed := [name for name, each in starting.items() if each.wait()]:
            sys.exit(f"These clusters did not start: {', '.join(failed)}.")

    def stop_clusters(self) -> None:
        """Stop all clusters."""
        for name in CLUSTERS:
            line = [*KPLAN, "sandbox", "stop", f"-folder=sandboxes/{name}"]
            subprocess.run(line, cwd=self.folder, stdout=subprocess.DEVNULL, check=False)

    def kplan(self, line: str, folder: str = ".", expected: int = 0) -> None:
        """Run kplan and check its exit code."""
        more = self.options if line.startswith("fleet") else []
        print_line(f"$ {'' if folder == '.' else f'cd {folder} && '}kplan {line}")
        code = subprocess.run(
            [*KPLAN, *line.split(), *more], cwd=self.folder / folder, check=False
        ).returncode
        if code != expected:
            sys.exit(f"Expected exit code {expected}, not {code}.")

    def client_properties(self, user: str) -> dict[str, str]:
        """Read the client properties of a user from the sandbox, with the names of librdkafka."""
        file = self.folder / "sandboxes" / "shop" / f"{user}.properties"
        properties = dict(each.split("=", 1) for each in file.read_text().splitlines())
        login = dict(
            re.findall(r'(username|password)="([^"]*)"', properties.pop("sasl.jaas.config"))
        )
        return {**properties, **{f"sasl.{name}": value for name, value in login.items()}}


def print_line(text: str) -> None:
    """Print a line immediately, before the output of the next command."""
    sys.stdout.write(f"\n{text}\n")
    sys.stdout.flush()


def write(example: Example, user: str) -> None:
    """Write ten orders as a user, and print an error."""
    refused: list[str] = []
    producer = Producer(example.client_properties(user))
    for number in range(10):
        producer.produce(
            TOPIC, b"%d" % number, on_delivery=lambda error, _: error and refused.append(str(error))
        )
    producer.flush(TIMEOUT_S)
    print_line(f"# {user} writes to {TOPIC}: {refused[0] if refused else '10 records'}")


def read(example: Example, user: str) -> None:
    """Read an order as a user in a consumer group, and commit its offset."""
    consumer = Consumer({**example.client_properties(user), "group.id": f"shop.{user}"})
    try:
        consumer.assign([TopicPartition(TOPIC, each, OFFSET_BEGINNING) for each in range(3)])
        message = consumer.poll(TIMEOUT_S)
        if message is None or message.error():
            raise KafkaException(message and message.error())
        consumer.commit(message, asynchronous=False)
    finally:
        consumer.close()
    print_line(f"# {user} reads {TOPIC} in the group shop.{user}")


def change_topic(example: Example) -> None:
    """Change a topic with another tool."""
    print_line(f"# Another tool sets retention.ms of {TOPIC} to one hour.")
    entry = ConfigEntry("retention.ms", "3600000", incremental_operation=AlterConfigOpType.SET)
    changed = ConfigResource(ResourceType.TOPIC, TOPIC, incremental_configs=[entry])
    admin = AdminClient(example.client_properties("admin"))
    admin.incremental_alter_configs([changed])[changed].result(TIMEOUT_S)


def plan_without_read(example: Example) -> None:
    """Plan to remove the permission of alice to read."""
    print_line("# A pull request removes the permission of alice to read orders.")
    file = example.folder / "shop" / "main.tf"
    file.write_text(file.read_text().replace('["Read", "Write"]', '["Write"]'))
    example.kplan("plan -out=less.kplan", "shop")


def run_steps(example: Example) -> None:
    """Run all steps in order."""
    steps: tuple[Callable[[], None], ...] = (
        lambda: example.kplan("apply -auto-approve", "shop"),
        lambda: example.kplan("apply -auto-approve", "stock"),
        lambda: write(example, "alice"),
        lambda: read(example, "alice"),
        lambda: write(example, "bob"),
        lambda: example.kplan("fleet snapshot -run=morning"),
        lambda: change_topic(example),
        lambda: example.kplan("fleet snapshot -run=noon"),
        lambda: example.kplan("fleet inventory -by=team -top=3"),
        lambda: example.kplan("fleet drift", expected=2),
        lambda: example.kplan("fleet drift -since=morning", expected=2),
        lambda: example.kplan(f"fleet access who-can READ TOPIC:{TOPIC}"),
        lambda: example.kplan("fleet lint", expected=2),
        lambda: example.kplan("fleet audit ingest"),
        lambda: example.kplan("fleet audit usage -removed=review"),
        lambda: plan_without_read(example),
        lambda: example.kplan("fleet replay shop/less.kplan", expected=3),
        lambda: example.kplan("fleet report -html=fleet.html"),
    )
    for step in steps:
        step()


def main() -> None:
    """Run the example in a new folder."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("folder", nargs="?", default="fleet-live", metavar="DIR")
    arguments, options = parser.parse_known_args()
    folder = Path(arguments.folder).absolute()
    if folder.exists():
        sys.exit(f"{folder} exists. Remove it, or use another folder.")
    shutil.copytree(Path(__file__).parent / "live", folder)
    example = Example(folder, options or list(SMALL))
    print_line("# Starting three clusters: with passwords, with certificates, and without logins.")
    try:
        example.start_clusters()
        run_steps(example)
    finally:
        example.stop_clusters()
    print_line(f"# Stopped the clusters. Report: {folder / 'fleet.html'}")


if __name__ == "__main__":
    main()
