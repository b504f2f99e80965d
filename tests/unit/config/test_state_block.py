"""`state { ... }`: where the state is kept, found out before anything else is evaluated."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from kplan.cluster.topology import StateBucket, StateTopic
from kplan.config.inputs import Inputs
from kplan.config.state_block import StateLocation, find_state_location
from kplan.kinds import KINDS
from tests.unit.config.load_helper import diagnostic_text, load_files


def state_location(
    folder: Path, files: Mapping[str, str] | str, inputs: Inputs | None = None
) -> StateLocation:
    named = {"main.tf": files} if isinstance(files, str) else files
    for name, text in named.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return find_state_location(folder, inputs or Inputs(), KINDS)


def test_without_a_block_the_state_is_in_a_file(tmp_path: Path) -> None:
    assert state_location(tmp_path, 'provider "kafka" {}\nlocals { a = }\n') == StateLocation()
    assert (
        state_location(tmp_path, '# state: {}\nvariable "v" {}\nlocals { a = var.v }\n')
        == StateLocation()
    )
    assert find_state_location(tmp_path / "nowhere", Inputs(), KINDS).topic is None


def test_a_block_names_topic_key_and_replicas_and_comes_with_the_connection(tmp_path: Path) -> None:
    text = """
    variable "environment" { default = "prod" }
    locals { servers = ["a:9092"] }
    provider "kafka" { bootstrap_servers = local.servers }
    state {
      backend            = "kafka"
      topic              = "__kplan_platform"
      key                = "shop-${var.environment}"
      replication_factor = 3
    }
    """
    found = state_location(tmp_path, text)
    assert found.is_known
    assert found.topic == StateTopic("__kplan_platform", "shop-prod", 3)
    assert [each.arguments for each in found.providers] == [{"bootstrap_servers": ["a:9092"]}]


def test_variables_of_the_environment_count(tmp_path: Path) -> None:
    text = 'variable "v" {}\nstate {\n  backend = "kafka"\n  key = var.v\n}\n'
    found = state_location(tmp_path, text, Inputs(environ={"KPLAN_VAR_v": "eu"}))
    assert found.topic == StateTopic(key="eu")
    assert state_location(tmp_path, text) == StateLocation(is_known=False)


@pytest.mark.parametrize(
    "block", ['state { backend = "kafka" }', 'state {\n  backend = "kafka"\n  key = null\n}']
)
def test_a_key_that_is_left_out_is_a_warning(tmp_path: Path, block: str) -> None:
    """It stands for itself only as long as no other configuration leaves it out too."""
    assert state_location(tmp_path, block).topic == StateTopic()
    (found,) = load_files(tmp_path, {"main.tf": block}).diagnostics
    assert (found.code, found.is_error) == ("KP136", False)
    assert 'key = "..."' in found.hint


def test_a_block_may_say_that_the_state_is_in_a_file(tmp_path: Path) -> None:
    assert state_location(tmp_path, 'state {\n  backend = "file"\n}\n') == StateLocation()


def test_a_block_in_json_counts(tmp_path: Path) -> None:
    found = state_location(
        tmp_path, {"main.tf.json": '{"state": {"backend": "kafka", "key": "a"}}'}
    )
    assert found.topic == StateTopic(key="a")


@pytest.mark.parametrize(
    "text",
    [
        "state {}",
        'state { backend = "kafak" }',
        "state { backend = var.unknown }",
        'state {\n  backend = "kafka"\n  key = ""\n}\n',
        'state "x" { backend = "kafka" }',
        'state { backend = "kafka" }\nstate { backend = "kafka" }',
        'state {\n  backend = "kafka"\n  key = "a"\n  path = "x"\n}\n',
        'state {\n  backend = "kafka"\n  key = \n}\n',
        'state {\n  backend = "kafka"\n  key = "a"\n}\nresource "kafka_topic" {',
        'provider "kafka" { timeout = 1 / 0 }\nstate {\n  backend = "kafka"\n  key = "a"\n}\n',
    ],
)
def test_a_mistake_never_means_that_the_state_is_in_a_file(tmp_path: Path, text: str) -> None:
    """It would be taken for a configuration that was never applied."""
    assert state_location(tmp_path, text) == StateLocation(is_known=False)
    assert any(each.is_error for each in load_files(tmp_path, {}).diagnostics)


def test_a_syntax_error_may_hide_the_block(tmp_path: Path) -> None:
    assert state_location(tmp_path, "# state: {}\nlocals {\n") == StateLocation(is_known=False)


def test_a_misspelt_backend_is_met_with_a_suggestion(tmp_path: Path) -> None:
    (found,) = load_files(tmp_path, {"main.tf": 'state { backend = "kafak" }'}).diagnostics
    assert found.hint == 'Did you mean "kafka"?'


def test_a_secret_cannot_name_the_state(tmp_path: Path) -> None:
    text = 'variable "v" {\n  default = "x"\n  sensitive = true\n}\nstate {\n  backend = "kafka"\n'
    (found,) = load_files(tmp_path, {"main.tf": f"{text}  key = var.v\n}}\n"}).diagnostics
    assert found.code == "KP182"
    assert "x" not in diagnostic_text(found).split()


def test_loading_the_configuration_tells_the_same(tmp_path: Path) -> None:
    block = 'state {\n  backend = "kafka"\n  topic = "orders"\n  key = local.unknown\n}\n'
    assert [each.code for each in load_files(tmp_path, {"main.tf": block}).diagnostics] == ["KP141"]
    whole = block.replace("local.unknown", '"eu"')
    assert [each.code for each in load_files(tmp_path, {"main.tf": whole}).diagnostics] == ["KP135"]


def s3_text(**arguments: str) -> str:
    given = {"backend": '"s3"', "bucket": '"states"', "key": '"team/orders"', **arguments}
    return "state {\n" + "".join(f"  {name} = {each}\n" for name, each in given.items()) + "}\n"


def test_a_block_names_a_bucket_and_a_key(tmp_path: Path) -> None:
    found = state_location(tmp_path, s3_text(region='"eu-west-1"'))
    assert found == StateLocation(bucket=StateBucket("states", "team/orders", "eu-west-1"))


def test_http_is_for_this_machine_unless_it_is_allowed(tmp_path: Path) -> None:
    local = state_location(tmp_path, s3_text(endpoint='"http://127.0.0.1:9000"')).bucket
    assert local is not None
    assert local.allow_http
    remote = s3_text(endpoint='"http://minio:9000"')
    assert not state_location(tmp_path, remote).is_known
    allowed = s3_text(endpoint='"http://minio:9000"', allow_http="true")
    assert state_location(tmp_path, allowed).is_known


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bucket", '"Not A Bucket"'),
        ("bucket", "null"),
        ("key", '"../other"'),
        ("key", '"/a"'),
        ("region", "1"),
        ("endpoint", '"minio"'),
        ("allow_http", '"yes"'),
        ("topic", '"__kplan_state"'),
    ],
)
def test_a_mistake_in_a_block_for_a_bucket_is_told(tmp_path: Path, name: str, value: str) -> None:
    assert not state_location(tmp_path, s3_text(**{name: value})).is_known
