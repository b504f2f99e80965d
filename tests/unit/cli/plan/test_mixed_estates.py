"""Repositories that keep a cluster, its accounts and its topics together: MSK, Aiven, Confluent."""

import shutil
from pathlib import Path

import pytest

from tests.unit.cli.memory_command import MemoryCommand, memory_command

ESTATES = Path(__file__).parents[3] / "fixtures" / "estates"
STATE = "-foreign-values=terraform.tfstate"
SHOWN = "-foreign-values=show.json"


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    (tmp_path / "estate").mkdir()
    return memory_command(tmp_path / "estate", capsys, monkeypatch)


def copy_estate(desk: MemoryCommand, name: str) -> None:
    """Put a repository in the place of the folder; what is beside its folder is beside it."""
    home = ESTATES / name
    for each in home.parent.iterdir() if "/" in name else ():
        if each != home:
            shutil.copytree(each, desk.folder.parent / each.name)
    shutil.copytree(home, desk.folder, dirs_exist_ok=True)


def apply_and_plan_again(desk: MemoryCommand, values: str) -> set[str]:
    """Apply a saved plan; give the ACLs as principal, operation and resource."""
    assert "hush" not in desk.run("plan", values, "-out=p.kplan")
    desk.run("apply", values, "p.kplan")
    assert "No changes." in desk.run("plan", values, "-detailed-exitcode")
    assert b"hush" not in b"".join(
        each.read_bytes() for each in desk.folder.glob("state/**/*.json")
    )
    return {
        f"{each.principal} {each.operation} {each.resource_name}" for each in desk.cluster.acls()
    }


def test_an_estate_on_msk_takes_roles_brokers_and_another_state_from_the_state(
    desk: MemoryCommand,
) -> None:
    """Topics are those of the files, whatever Terraform recorded of them."""
    copy_estate(desk, "msk")
    role = "User:arn:aws:iam::111122223333:role"
    assert apply_and_plan_again(desk, STATE) == {
        f"{role}/billing READ shop.orders",
        f"{role}/checkout READ shop.orders",
        f"{role}/billing READ eu.billing",
        f"{role}/checkout READ eu.checkout",
    }
    assert set(desk.cluster.topics()) == {"shop.orders", "shop.invoices"}
    assert desk.run("output", "-raw", "owner") == "111122223333"
    assert "b-2.shop.example:9098" in desk.run("output", "-raw", "brokers")


def test_an_estate_on_aiven_takes_users_and_certificates_from_what_terraform_shows(
    desk: MemoryCommand,
) -> None:
    copy_estate(desk, "aiven")
    assert apply_and_plan_again(desk, SHOWN) == {
        "User:app-0 WRITE clicks",
        "User:app-1 WRITE clicks",
    }
    assert "service_uri = <sensitive>" in desk.run("output")
    assert desk.run("output", "-raw", "service_uri", SHOWN) == "shop-kafka.example:12691"


def test_an_estate_on_confluent_takes_accounts_from_one_state_and_names_from_another(
    desk: MemoryCommand,
) -> None:
    """The other one is read offline, as the backend local keeps it."""
    copy_estate(desk, "confluent/cluster")
    assert apply_and_plan_again(desk, STATE) == {
        "User:sa-1 READ shop.orders",
        "User:sa-1 READ shop.orders.checkout",
        "User:sa-2 READ shop.orders",
        "User:sa-2 READ shop.orders.billing",
    }
    assert desk.run("output", "-json", "principals") == '[\n  "User:sa-1",\n  "User:sa-2"\n]\n'


@pytest.mark.parametrize(
    ("name", "needs"),
    [
        ("msk", {"aws_iam_role.app"}),
        ("aiven", {"aiven_kafka_user.app"}),
        ("confluent/cluster", {"confluent_service_account.app"}),
    ],
)
def test_without_a_state_only_what_acls_are_made_of_is_missing(
    desk: MemoryCommand, name: str, needs: set[str]
) -> None:
    """Clusters, triggers, other states and outputs stop nothing."""
    copy_estate(desk, name)
    told = desk.run_failing("validate")
    words = told.split()
    errors = {words[at - 1] for at, word in enumerate(words) if word == "belongs"}
    assert errors == needs
    assert told.count("Left out: ") == 1
