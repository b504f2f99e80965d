"""A process that writes a state to a topic again and again, until it is killed.

    python -m tests.contract.state_writer FOLDER TOPIC KEY [half]

Says on stdout each serial that was acknowledged. With `half` it stops inside of a transaction that
holds half of a state, and says so.
"""

import sys
import time
from pathlib import Path

from kplan.cluster.topology import StateTopic
from kplan.kafka.state_topic import KafkaRecords
from kplan.kafka.transaction import librdkafka_settings
from kplan.sandbox.sandbox import read_sandbox
from kplan.state.record_store import RecordStore
from tests.contract.clusters import settings_of
from tests.contract.state_values import bulky


def main(folder: str, topic: str, key: str, *how: str) -> None:
    sandbox = read_sandbox(Path(folder))
    assert sandbox is not None
    settings = settings_of(sandbox, "anonymous")
    if how:
        from confluent_kafka import Producer

        ours = {"transactional.id": f"kplan-state-{key}", "transaction.timeout.ms": "30000"}
        timeouts = {"socket.timeout.ms": "10000"}
        producer = Producer({**librdkafka_settings(settings), **ours, **timeouts})
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce(topic, b"half of a state", f"{key}/state", partition=0)
        assert producer.flush(30) == 0
        say("half")
        time.sleep(600)
    store = RecordStore(KafkaRecords(settings, StateTopic(topic, key)))
    found = store.read()
    serial = found.serial if found else 0
    while True:
        serial += 1
        store.write(bulky(serial))
        say(str(serial))


def say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
