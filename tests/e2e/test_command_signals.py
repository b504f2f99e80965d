"""The installed command stopped in the middle of an apply: once, twice, and resumed."""

import signal
import threading
import time
from pathlib import Path

import pytest

from kplan.state.journal import journal_path, read_journal
from tests.e2e.commands import start
from tests.e2e.places import Place
from tests.e2e.proxy import CREATE_ACLS, CREATE_TOPICS, Proxy

pytestmark = pytest.mark.broker

RESUME = "kplan apply -resume"
APPLY = ("apply", "-auto-approve", "-broker-validate=false")


def state_path(place: Place) -> Path:
    return place.folder / "state" / "kplan.json"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_the_first_signal_settles_what_is_in_flight_and_names_the_way_on(
    watched: Place, proxy: Proxy, number: signal.Signals, code: int
) -> None:
    """The ACL is sent first; Terraform dies of SIGHUP, and says nothing of the way on."""
    with start(watched.folder, *APPLY, env=watched.env) as process:
        proxy.before[CREATE_ACLS] = lambda: process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert "kafka_acl.reader: created" in err
    assert f"To go on: {RESUME}" in out
    journal = read_journal(state_path(watched))
    assert journal is not None
    assert not journal.unsettled_keys
    watched.run("apply", "-resume")
    assert len(watched.run("state", "list").splitlines()) == 3
    watched.run("plan", "-detailed-exitcode")


def test_the_second_signal_leaves_a_journal_from_which_the_goal_is_reached(
    watched: Place, proxy: Proxy
) -> None:
    """Interrupts, issue 4 item 9: what is in flight is looked up by the next run."""
    is_asked, is_over = threading.Event(), threading.Event()

    def hold() -> None:
        is_asked.set()
        is_over.wait(60)

    with start(watched.folder, *APPLY, env=watched.env) as process:
        proxy.before[CREATE_TOPICS] = hold
        assert is_asked.wait(60)
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert time.monotonic() - began < 4  # the request itself may take 5 s and more
    assert process.returncode == 130
    assert "Stopped. To check the requests in flight" in err
    assert RESUME in err
    assert "Traceback" not in err
    assert not (watched.folder / "state" / "kplan.lock.json").exists()
    journal = read_journal(state_path(watched))
    assert journal is not None
    assert {identity.rpartition(".")[2] for _, identity, *_ in journal.unsettled_keys} == {"a", "b"}
    proxy.before.clear()
    is_over.set()  # the request goes on to the broker now, as a slow line would have it
    watched.run("apply", "-resume")
    assert not journal_path(state_path(watched)).exists()
    assert len(watched.run("state", "list").splitlines()) == 3
    assert watched.run("output", "count") == "2\n"
    watched.run("plan", "-detailed-exitcode")


def test_resume_needs_neither_the_variables_nor_the_files_of_the_first_command(
    watched: Place, proxy: Proxy
) -> None:
    """What was approved stands in the journal; what was edited since waits for the next plan."""
    extra = watched.folder / "extra.tfvars"
    extra.write_text("partitions = 3\n")
    with start(watched.folder, *APPLY, "-var-file=extra.tfvars", env=watched.env) as process:
        proxy.before[CREATE_ACLS] = lambda: process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert journal_path(state_path(watched)).exists()
    proxy.before.clear()
    extra.unlink()
    watched.edit('"86400000"', '"3600000"')
    said = watched.run("state", "list")
    done = watched.run("apply", "-resume")
    assert "3 added" in done, (said, done)  # with the ACL of the first run
    told = [
        watched.run("topics", "describe", f"{watched.prefix}.{each}", "-json")
        for each in ("a", "b")
    ]
    assert all("86400000" in each and '"partitions": 3' in each for each in told), told
    planned = watched.run("plan", "-var=partitions=3", "-detailed-exitcode", code=2)
    assert "2 to change" in planned
