"""The examples of the modules on a real Kafka: each role can do what it must, and nothing else."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from kplan.cluster.port import Cluster
from kplan.cluster.request import AclBinding, TopicRef
from kplan.config.inputs import Inputs
from kplan.config.load import load_configuration
from kplan.kafka.cluster import open_cluster
from kplan.kinds import KINDS
from kplan.sandbox.sandbox import Sandbox, properties_file
from tests.contract.clusters import settings_of
from tests.e2e.actors import Actor, Refused
from tests.e2e.commands import kplan
from tests.e2e.places import until
from tests.e2e.roles import ROLES as CLIENT_ROLES
from tests.e2e.roles import Act, Acts, Outputs, Role, Users
from tests.e2e.service_roles import SERVICE_ROLES

pytestmark = pytest.mark.broker

ROOT = Path(__file__).parents[2]
ROLES = {**CLIENT_ROLES, **SERVICE_ROLES}


@dataclass(frozen=True, slots=True)
class Scene:
    """An example that was applied, and who is in it."""

    cluster: Cluster
    acls: frozenset[AclBinding]
    role: Role


@pytest.fixture(scope="module", params=ROLES)
def scene(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, sasl_broker: Sandbox
) -> Iterator[Scene]:
    """Apply an example with the installed command; leave the cluster as it was."""
    work = tmp_path_factory.mktemp("modules")
    for each in ("modules", f"examples/{request.param}"):
        shutil.copytree(ROOT / each, work / each)
    users = Users(*(Actor(sasl_broker, name) for name in ("admin", "alice", "bob", "ci")))
    with closing(open_cluster(settings_of(sasl_broker, "admin"))) as cluster:
        topics, acls = set(cluster.topics()), cluster.acls()
        outputs = _applied(work / "examples" / request.param, sasl_broker)
        made = cluster.acls() - acls
        yield Scene(cluster, made, ROLES[request.param](users, outputs))
        cluster.delete_acls(list(made))
        cluster.delete_topics([TopicRef(name) for name in set(cluster.topics()) - topics])


def test_real_clients_can_do_what_the_role_is_for(scene: Scene) -> None:
    for act in scene.role.allowed.values():
        act()


def test_real_clients_are_refused_elsewhere(scene: Scene) -> None:
    for sort, acts in scene.role.refused.items():
        for name, act in acts.items():
            assert _refusal(act) == f"{sort}_AUTHORIZATION_FAILED", name


def test_the_role_breaks_without_any_one_of_its_acls(scene: Scene) -> None:
    assert scene.acls
    needless = [acl for acl in sorted(scene.acls, key=str) if not _is_missed(acl, scene)]
    assert needless == []


def _is_missed(acl: AclBinding, scene: Scene) -> bool:
    """Take an ACL away, and see whether what it was for is refused now."""
    scene.cluster.delete_acls([acl])
    until(lambda: acl not in scene.cluster.acls())
    try:
        refusals = (_refusal(act) for act in _likeliest(acl, scene.role.allowed))
        return f"{acl.resource_type}_AUTHORIZATION_FAILED" in refusals
    finally:
        scene.cluster.create_acls([acl])
        until(lambda: acl in scene.cluster.acls())


def _likeliest(acl: AclBinding, acts: Acts) -> list[Act]:
    """Put the acts that name the resource first."""
    return [acts[name] for name in sorted(acts, key=lambda name: acl.resource_name not in name)]


def _refusal(act: Act) -> str:
    try:
        act()
    except Refused as refused:
        return str(refused)
    return ""


def _applied(folder: Path, sandbox: Sandbox) -> Outputs:
    """Apply a folder, and give its outputs."""
    env = {"KPLAN_COMMAND_CONFIG": str(properties_file(sandbox.folder, "admin"))}
    ran = kplan(folder, "apply", "-auto-approve", env=env)
    assert ran.code == 0, ran
    outputs = load_configuration(folder, Inputs(), KINDS).outputs
    return {each.name: each.value for each in outputs}
