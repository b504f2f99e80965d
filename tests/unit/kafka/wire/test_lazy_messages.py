"""What is imported of kafka-python, which every command that asks a cluster takes time for."""

import subprocess
import sys

import pytest

from kplan.kafka.wire import messages
from kplan.kafka.wire.group import CONSUMER_GROUP_DESCRIBE
from kplan.kafka.wire.messages import Api

OURS = (
    messages.UNREGISTER_BROKER,
    messages.ADD_VOTER,
    messages.REMOVE_VOTER,
    messages.CREATE_TOKEN,
    messages.RENEW_TOKEN,
    messages.EXPIRE_TOKEN,
    messages.DESCRIBE_TOKENS,
    CONSUMER_GROUP_DESCRIBE,
)


def imported(code: str) -> set[str]:
    code += "\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(done.stdout.splitlines())


def test_the_first_message_imports_no_client_of_kafka_python() -> None:
    """With its clients kafka-python takes half as long as all of kplan."""
    found = imported("from kplan.kafka.wire.messages import METADATA\nMETADATA.request()")
    assert "kafka.protocol.metadata.metadata" in found
    assert not found & {"kafka.admin.client", "kafka.consumer.group", "kafka.net.connection"}
    assert "kafka.protocol.admin.topics" not in found


def test_a_client_of_kafka_python_can_still_be_imported() -> None:
    code = "import kplan.kafka.wire.messages\nfrom kafka import KafkaConsumer, __version__"
    assert "kafka.consumer.group" in imported(code)


def test_a_name_that_kafka_python_lacks_is_still_missing() -> None:
    code = "import kplan.kafka.wire.messages\nimport kafka\nassert not hasattr(kafka, 'nothing')"
    assert "kafka.consumer.group" in imported(code)


@pytest.mark.parametrize("api", OURS, ids=lambda each: each.name)
def test_messages_that_kafka_python_does_not_ship_are_made_of_our_definitions(api: Api) -> None:
    assert api.request.API_KEY == api.response.API_KEY == api.key
    assert api.request is api.request
    assert api.newest <= api.request.max_version


def test_a_class_is_made_once() -> None:
    assert messages.METADATA.request is messages.METADATA.request
