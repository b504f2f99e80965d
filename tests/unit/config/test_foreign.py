"""Resources that are not Kafka's: an error that names them all, or left out and counted."""

import json
from pathlib import Path

import pytest

from kplan.config.foreign_values import parse_foreign_values
from kplan.config.inputs import Inputs
from tests.unit.config.load_helper import load_files

MIXED = """resource "aws_s3_bucket" "logs" {
  bucket = "logs"
}
resource "random_id" "x" {}
resource "random_id" "y" {}
resource "kafka_topic" "orders" {
  name = "orders"
}
output "name" {
  value = kafka_topic.orders.name
}
"""


def test_resources_of_other_providers_are_left_out_and_said_in_one_line(tmp_path: Path) -> None:
    """Line 2: by default, where they are no misspelt kinds of kplan."""
    found = load_files(tmp_path, {"main.tf": MIXED + 'provider "aws" { region = "eu" }\n'})
    (problem,) = found.diagnostics
    assert not problem.is_error
    assert problem.code == "KP126"
    assert problem.detail == (
        "3 resources of other providers left out: aws_s3_bucket and random_id."
    )


@pytest.mark.parametrize(
    ("kind", "is_error"),
    [
        ("kafka_topik", True),
        ("kafka_anything", True),
        ("kfka_topic", True),
        ("topic", True),
        ("aiven_kafka_topic", True),
        ("aiven_kafka_connector", False),
        ("aiven_service", False),
        ("aws_msk_cluster", False),
        ("kafka_quota_composite", True),
        ("kafka-connect_connector", False),
    ],
)
def test_what_may_be_a_misspelt_kind_is_an_error(
    tmp_path: Path, kind: str, *, is_error: bool
) -> None:
    text = f'resource "{kind}" "x" {{}}\nresource "kafka_topic" "t" {{ name = "t" }}\n'
    found = load_files(tmp_path, {"main.tf": text})
    assert [each.code for each in found.diagnostics] == ["KP126"]
    assert found.diagnostics[0].is_error == is_error


def test_the_hint_for_a_composite_quota_names_the_arguments_that_say_the_same(
    tmp_path: Path,
) -> None:
    text = 'resource "kafka_quota_composite" "q" {\n  entity { type = "user" }\n}\n'
    (problem,) = load_files(tmp_path, {"main.tf": text}).diagnostics
    assert problem.code == "KP126"
    assert all(word in problem.hint for word in ("kafka_quota", "entity_name", "client_id"))


VALUES = """
resource "terraform_data" "names" {
  for_each = toset(["a", "b"])
  input    = upper(each.key)
}
resource "null_resource" "n" {
  triggers = { x = 1 }
}
data "terraform_remote_state" "net" {
  backend  = "local"
  config   = { path = "net/terraform.tfstate" }
  defaults = { team = "shop", env = "none" }
}
resource "kafka_topic" "t" {
  name       = join("-", [
    terraform_data.names["a"].output, null_resource.n.triggers.x,
    data.terraform_remote_state.net.outputs.env, data.terraform_remote_state.net.outputs.team,
  ])
  depends_on = [terraform_data.names, null_resource.n]
}
"""
NETWORK = {"version": 4, "outputs": {"env": {"value": "prod", "type": "string"}}}


def test_blocks_that_hold_values_have_them(tmp_path: Path) -> None:
    files = {"main.tf": VALUES, "net/terraform.tfstate": json.dumps(NETWORK)}
    found = load_files(tmp_path, files)
    assert found.diagnostics == ()
    assert [each.identity for each in found.resources] == ["A-1-prod-shop"]


@pytest.mark.parametrize(
    ("change", "code", "word"),
    [
        (("net/terraform", "none/terraform"), "KP167", "There is no state none/"),
        (("input    = upper(each.key)", "input    = null_resource.n.kay"), "KP144", "kay"),
        (('terraform_data.names["a"].output', 'terraform_data.names["a"].id'), "KP142", "-foreign"),
        (
            ("triggers = { x = 1 }", 'triggers = { x = 1 }\n  provisioner "local-exec" {}'),
            "KP344",
            "does not run",
        ),
    ],
)
def test_mistakes_in_blocks_that_hold_values_are_errors(
    tmp_path: Path, change: tuple[str, str], code: str, word: str
) -> None:
    files = {"main.tf": VALUES.replace(*change), "net/terraform.tfstate": json.dumps(NETWORK)}
    found = load_files(tmp_path, files)
    assert [each.code for each in found.diagnostics] == [code]
    assert word in found.diagnostics[0].detail + found.diagnostics[0].hint


WAITING = """
resource "aws_msk_cluster" "m" {}
resource "null_resource" "n" {
  triggers = { id = aws_msk_cluster.m.arn }
}
resource "terraform_data" "d" {
  for_each = aws_msk_cluster.m.zones
  input    = each.key
}
data "terraform_remote_state" "net" {
  backend = "s3"
  config  = { bucket = "states" }
}
data "kafka_topic" "seen" {
  name = aws_msk_cluster.m.cluster_name
}
locals {
  brokers = split(",", data.terraform_remote_state.net.outputs.brokers)
}
provider "kafka" {
  bootstrap_servers = local.brokers
}
output "partitions" { value = data.kafka_topic.seen.partitions }
resource "kafka_topic" "orders" {
  name       = "orders"
  depends_on = [null_resource.n]
}
"""


def test_blocks_of_values_that_wait_for_other_providers_are_left_out(tmp_path: Path) -> None:
    """A trigger that names a cluster, and a state in a bucket, stop no plan of topics."""
    found = load_files(tmp_path, {"main.tf": WAITING})
    assert [each.code for each in found.diagnostics if each.is_error] == []
    assert [each.identity for each in found.resources] == ["orders"]
    told = " ".join(each.detail for each in found.diagnostics)
    assert "Left out: local.brokers, data.kafka_topic.seen, output.partitions, which come" in told
    assert '"bootstrap_servers" comes from a resource of another provider' in told


@pytest.mark.parametrize(
    ("value", "column", "word"),
    [
        ("null_resource.n.triggers.id", 10, "aws_msk_cluster.m belongs"),
        ('terraform_data.d["a"].output', 10, "aws_msk_cluster.m belongs"),
        ("join(null_resource.n.triggers)", 15, "aws_msk_cluster.m belongs"),
        ("data.terraform_remote_state.net.outputs.team", 10, 'backend "s3"'),
    ],
)
def test_a_topic_that_needs_such_a_value_is_an_error_where_it_does(
    tmp_path: Path, value: str, column: int, word: str
) -> None:
    text = f'{WAITING}resource "kafka_topic" "t" {{\n  name = {value}\n}}\n'
    found = load_files(tmp_path, {"main.tf": text})
    errors = [each for each in found.diagnostics if each.is_error]
    assert [(each.code, str(each.subject)) for each in errors] == [
        ("KP509", f"main.tf:29:{column}")
    ]
    assert word in errors[0].detail


def test_provider_blocks_of_others_have_blocks_of_their_own(tmp_path: Path) -> None:
    text = """
provider "azurerm" {
  features {}
}
provider "aws" {
  default_tags {
    tags = { team = "shop" }
  }
  assume_role {
    role_arn = var.undeclared
  }
}
resource "kafka_topic" "orders" { name = "orders" }
"""
    found = load_files(tmp_path, {"main.tf": text})
    assert [each.code for each in found.diagnostics] == ["KP195", "KP195"]
    kafka = 'provider "kafka" {\n  features {}\n}\n'
    found = load_files(tmp_path, {"main.tf": kafka})
    assert [each.code for each in found.diagnostics] == ["KP120"]


def test_what_modules_are_given_of_other_providers_is_followed(tmp_path: Path) -> None:
    """A module that needs no such value is planned; one whose topic does is an error."""
    main = """
resource "aws_vpc" "v" {}
module "app" {
  source = "./app"
  vpc    = aws_vpc.v.id
  NAME
}
output "vpc" { value = module.app.vpc }
import {
  to = aws_vpc.v
  id = "vpc-1"
}
check "reachable" {
  assert {
    condition     = aws_vpc.v.id != ""
    error_message = "no"
  }
}
"""
    app = """
variable "vpc" {
  validation {
    condition     = var.vpc != ""
    error_message = "Empty."
  }
}
variable "name" { default = "orders" }
resource "kafka_topic" "t" { name = var.name }
output "vpc" { value = "vpc/${var.vpc}" }
"""
    found = load_files(tmp_path, {"main.tf": main.replace("NAME", ""), "app/main.tf": app})
    assert [each.code for each in found.diagnostics if each.is_error] == []
    assert [each.identity for each in found.resources] == ["orders"]
    assert found.outputs == ()
    needs = main.replace("NAME", "name = aws_vpc.v.id")
    found = load_files(tmp_path, {"main.tf": needs, "app/main.tf": app})
    errors = [each for each in found.diagnostics if each.is_error]
    assert [(each.code, str(each.subject)) for each in errors] == [("KP509", "main.tf:6:10")]


def test_a_check_that_reads_data_of_others_is_left_out(tmp_path: Path) -> None:
    text = """
check "site" {
  data "http" "site" { url = "http://x" }
  assert {
    condition     = data.http.site.status_code == 200
    error_message = "no"
  }
}
"""
    found = load_files(tmp_path, {"main.tf": text})
    assert [(each.code, each.is_error) for each in found.diagnostics] == [("KP126", False)]


def test_they_are_left_out_and_counted_where_that_is_asked_for(tmp_path: Path) -> None:
    found = load_files(tmp_path, {"main.tf": MIXED}, Inputs(skips_foreign=True))
    (problem,) = found.diagnostics
    assert not problem.is_error
    assert "3 resources" in problem.detail
    assert [each.identity for each in found.resources] == ["orders"]
    assert found.outputs[0].value == "orders"


def test_nothing_is_lost_in_silence_that_depends_on_one_left_out(tmp_path: Path) -> None:
    text = (
        MIXED
        + """
locals {
  id = random_id.x.hex
}
resource "kafka_topic" "direct" {
  name = "a-${random_id.y.hex}"
}
resource "kafka_topic" "indirect" {
  name = "b-${local.id}"
}
resource "kafka_topic" "tried" {
  name = try(data.aws_caller_identity.me.id, "fallback")
}
data "aws_caller_identity" "me" {}
module "m" {
  source = "./m"
  x      = random_id.x.hex
}
"""
    )
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "main.tf").write_text('variable "x" {}\n')
    found = load_files(tmp_path, {"main.tf": text}, Inputs(skips_foreign=True))
    errors = [(each.code, str(each.subject)) for each in found.diagnostics if each.is_error]
    assert sorted(errors) == [
        ("KP509", "main.tf:14:8"),
        ("KP509", "main.tf:17:15"),
        ("KP509", "main.tf:23:14"),
    ]
    assert all("-foreign-values=" in each.hint for each in found.diagnostics if each.is_error)


LEFT_OUT = """
locals {
  brokers = aws_msk_cluster.main.bootstrap_brokers
  again   = upper(local.brokers)
  own     = 1
}
provider "kafka" {
  bootstrap_servers = split(",", local.brokers)
  tls_enabled       = false
}
resource "aws_msk_cluster" "main" {}
resource "kafka_topic" "orders" {
  name       = "orders"
  partitions = local.own
  depends_on = [aws_msk_cluster.main]
}
output "brokers" { value = local.again }
output "own" { value = local.own }
"""


def test_locals_and_outputs_of_one_left_out_are_left_out_with_one_warning(tmp_path: Path) -> None:
    found = load_files(tmp_path, {"main.tf": LEFT_OUT}, Inputs(skips_foreign=True))
    assert not [each for each in found.diagnostics if each.is_error]
    assert [str(each.identity) for each in found.resources] == ["orders"]
    assert [each.name for each in found.outputs] == ["own"]
    told = [each.detail for each in found.diagnostics]
    assert sum("local.brokers, local.again, output.brokers" in each for each in told) == 1
    (provider,) = found.providers
    assert provider.arguments == {"tls_enabled": False}
    assert sum('"bootstrap_servers" comes from a resource of another' in each for each in told) == 1
    assert len(told) == 3


STATE = {
    "version": 4,
    "terraform_version": "1.11.4",
    "serial": 1,
    "lineage": "x",
    "outputs": {},
    "resources": [
        {
            "mode": "managed", "type": "aws_msk_cluster", "name": "main",
            "instances": [
                {"attributes": {"bootstrap_brokers": "old:9092"}, "deposed": "ab12"},
                {"attributes": {"bootstrap_brokers": "b1:9092,b2:9092"}},
            ],
        },
        {
            "mode": "managed", "type": "confluent_service_account", "name": "app",
            "instances": [
                {"index_key": "pay", "attributes": {"id": "sa-1"}},
                {"index_key": "ship", "attributes": {"id": "sa-2"}},
            ],
        },
        {
            "mode": "data", "type": "aws_caller_identity", "name": "me",
            "instances": [{"attributes": {"account_id": "42"}}],
        },
        {
            "mode": "managed", "type": "random_password", "name": "p",
            "instances": [{
                "attributes": {"result": "hush", "length": 4},
                "sensitive_attributes": [[{"type": "get_attr", "value": "result"}]],
            }],
        },
        {
            "module": 'module.team["a"]', "mode": "managed", "type": "random_id", "name": "n",
            "instances": [{"index_key": 0, "attributes": {"hex": "f0"}}],
        },
    ],
}  # fmt: skip
SHOWN = {
    "format_version": "1.0",
    "terraform_version": "1.11.4",
    "values": {
        "root_module": {
            "resources": [
                {"address": "aws_msk_cluster.main", "mode": "managed", "type": "aws_msk_cluster",
                 "name": "main", "values": {"bootstrap_brokers": "b1:9092,b2:9092"}},
                *(
                    {"address": f'confluent_service_account.app["{key}"]', "mode": "managed",
                     "type": "confluent_service_account", "name": "app", "index": key,
                     "values": {"id": held}}
                    for key, held in (("pay", "sa-1"), ("ship", "sa-2"))
                ),
                {"address": "data.aws_caller_identity.me", "mode": "data", "name": "me",
                 "type": "aws_caller_identity", "values": {"account_id": "42"}},
                {"address": "random_password.p", "mode": "managed", "type": "random_password",
                 "name": "p", "values": {"result": "hush", "length": 4},
                 "sensitive_values": {"result": True}},
            ],
            "child_modules": [{
                "address": 'module.team["a"]',
                "resources": [{"address": 'module.team["a"].random_id.n[0]', "mode": "managed",
                               "type": "random_id", "name": "n", "index": 0,
                               "values": {"hex": "f0"}}],
            }],
        }
    },
}  # fmt: skip
USES = (
    LEFT_OUT
    + """
resource "confluent_service_account" "app" {
  for_each = toset(["pay", "ship"])
}
data "aws_caller_identity" "me" {}
resource "random_password" "p" { length = 4 }
resource "kafka_acl" "read" {
  for_each            = confluent_service_account.app
  resource_name       = "orders-${data.aws_caller_identity.me.account_id}"
  resource_type       = "Topic"
  acl_principal       = "User:${each.value.id}"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
module "team" {
  source   = "./m"
  for_each = toset(["a"])
}
output "length" { value = random_password.p.length }
"""
)
TEAM = """
resource "random_id" "n" { count = 1 }
resource "kafka_topic" "t" { name = "team-${random_id.n[0].hex}" }
"""


@pytest.mark.parametrize("document", [STATE, SHOWN], ids=["tfstate", "show"])
def test_values_come_from_a_state_of_terraform_or_what_it_shows(
    tmp_path: Path, document: dict[str, object]
) -> None:
    known = parse_foreign_values(json.dumps(document).encode())
    inputs = Inputs(skips_foreign=True, foreign=known)
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "main.tf").write_text(TEAM)
    found = load_files(tmp_path, {"main.tf": USES}, inputs)
    assert {each.code for each in found.diagnostics} == {"KP126"}
    assert not [each for each in found.diagnostics if each.is_error]
    assert [str(each.identity) for each in found.resources] == [
        "User:sa-1|*|Read|Allow|Topic|orders-42|Literal",
        "User:sa-2|*|Read|Allow|Topic|orders-42|Literal",
        "orders",
        "team-f0",
    ]
    assert found.providers[0].arguments["bootstrap_servers"] == ["b1:9092", "b2:9092"]
    assert {each.name: each.value for each in found.outputs} == {
        "brokers": "B1:9092,B2:9092",
        "length": 4,
        "own": 1,
    }
    other = load_files(tmp_path, {"main.tf": USES}, Inputs(skips_foreign=True))
    assert other.digest != found.digest


def test_a_value_of_any_type_is_taken_from_beside_its_type(tmp_path: Path) -> None:
    """As Terraform 1.11 writes terraform_data into its state."""
    held = {"input": {"value": ["sa-1"], "type": ["tuple", ["string"]]}, "id": "x"}
    instance = {"index_key": 0, "attributes": {**held, "output": held["input"]}}
    block = {"mode": "managed", "type": "terraform_data", "name": "d", "instances": [instance]}
    data = json.dumps({**STATE, "resources": [block]}).encode()
    text = """
    resource "terraform_data" "d" { count = 1 }
    output "o" { value = terraform_data.d[0].output }
    """
    inputs = Inputs(skips_foreign=True, foreign=parse_foreign_values(data))
    found = load_files(tmp_path, {"main.tf": text}, inputs)
    assert [each.value for each in found.outputs] == [["sa-1"]]


def test_a_sensitive_value_stays_sensitive(tmp_path: Path) -> None:
    text = 'resource "random_password" "p" {}\noutput "p" { value = random_password.p.result }\n'
    for document in (STATE, SHOWN):
        known = parse_foreign_values(json.dumps(document).encode())
        inputs = Inputs(skips_foreign=True, foreign=known)
        found = load_files(tmp_path, {"main.tf": text}, inputs)
        assert [each.code for each in found.diagnostics if each.is_error] == ["KP177"]
        assert "hush" not in repr(found)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not valid JSON"),
        (b"[]", "neither a state"),
        (b'{"version": 4}', "neither a state"),
        (b'{"version": 3, "terraform_version": "0.11"}', "format is 3"),
        (b'{"version": 4, "terraform_version": "1", "resources": [1]}', "misplaces"),
        (b'{"version": 4, "terraform_version": "1", "resources": [{}]}', "misplaces"),
        (b'{"format_version": "1.0", "terraform_version": "1", "values": 3}', "misplaces"),
        (b"[" * 100_000, "not valid JSON"),
        (b"\xff\xfe", "not valid JSON"),
        (
            (
                b'{"version": 4, "terraform_version": "1", "resources": [{"mode": "managed", '
                b'"type": [], "name": "x", "instances": [{"index_key": {}}]}]}'
            ),
            "misplaces",
        ),
        (
            (
                b'{"version": 4, "terraform_version": "1", "resources": [{"mode": "managed", '
                b'"type": "t", "name": "x", "module": "module.a b", "instances": [{}]}]}'
            ),
            "is not a resource address",
        ),
    ],
)
def test_another_file_is_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_foreign_values(data)


@pytest.mark.parametrize(
    ("backend", "hint"),
    [
        ("s3", 'Store the state there with state { backend = "s3" }.'),
        ("azurerm", 'Store the state there with state { backend = "azure" }.'),
        ("remote", ""),
    ],
)
def test_a_backend_of_terraform_is_pointed_to_the_state_block(
    tmp_path: Path, backend: str, hint: str
) -> None:
    found = load_files(tmp_path, {"main.tf": f'terraform {{\n  backend "{backend}" {{}}\n}}\n'})
    assert [(each.code, each.hint) for each in found.diagnostics] == [("KP195", hint)]
