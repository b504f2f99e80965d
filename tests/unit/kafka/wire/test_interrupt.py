"""Ctrl-C while several brokers are asked at the same time."""

import signal
import threading
from contextlib import closing

import pytest

from kplan.kafka.settings.connection import Timeouts, seconds
from kplan.kafka.wire import messages, topic_config
from kplan.kafka.wire.driver import WireCluster
from kplan.kafka.wire.messages import Message
from tests.unit.kafka.wire.fake_broker import Act, fake_broker, settings_for

PATIENT = Timeouts(seconds(5), seconds(5))


def interrupt(_: Message) -> Act:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    return Act.STAY_SILENT


def test_an_interrupt_does_not_wait_for_a_broker_that_is_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The threads that wait for it are left behind."""
    monkeypatch.setattr(topic_config, "TOPICS_PER_REQUEST", 1)
    with fake_broker() as broker:
        broker.on(messages.DESCRIBE_CONFIGS, interrupt, Act.STAY_SILENT)
        settings = settings_for(broker.endpoint, timeouts=PATIENT)
        with closing(WireCluster(settings)) as cluster:
            with pytest.raises(KeyboardInterrupt):
                cluster.topic_configs(["a", "b"])
            assert any(each.name == "configs" for each in threading.enumerate())
