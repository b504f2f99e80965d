"""`moved`, `removed` and `import` blocks become addresses and names."""

from pathlib import Path

import pytest

from kplan.model.address import Address
from kplan.model.resource import ImportBlock
from tests.unit.config.load_helper import load_files

TOPICS = """
resource "kafka_topic" "t" {
  for_each           = toset(["a", "b"])
  name               = "t.${each.key}"
  partitions         = 1
  replication_factor = 1
}
"""
CALLED = TOPICS.replace('"t.${each.key}"', '"${var.name}.${each.key}"') + 'variable "name" {}\n'


def addresses(folder: Path, text: str, **more: str) -> tuple[tuple[str, str], ...]:
    found = load_files(folder, {"main.tf": TOPICS + text, **more})
    assert found.diagnostics == ()
    return found.refactorings.moved


def test_resources_instances_and_modules_move(tmp_path: Path) -> None:
    text = """
    moved {
      from = kafka_topic.old
      to   = kafka_topic.t
    }
    moved {
      from = kafka_topic.single
      to   = kafka_topic.t["a"]
    }
    moved {
      from = module.x.kafka_acl.read[0]
      to   = module.y["eu"].kafka_acl.read
    }
    moved {
      from = module.x
      to   = module.y["us"].module.z
    }
    moved {
      from = kafka_topic.t
      to   = kafka_topic.t["b"]
    }
    """
    assert addresses(tmp_path, text) == (
        ("kafka_topic.old", "kafka_topic.t"),
        ("kafka_topic.single", 'kafka_topic.t["a"]'),
        ("module.x.kafka_acl.read[0]", 'module.y["eu"].kafka_acl.read'),
        ("module.x", 'module.y["us"].module.z'),
        ("kafka_topic.t", 'kafka_topic.t["b"]'),
    )


def test_a_move_inside_a_module_holds_in_each_of_its_instances(tmp_path: Path) -> None:
    calls = 'module "m" {\n  for_each = toset(["x", "y"])\n  source = "./m"\n  name = each.key\n}\n'
    inner = f"{CALLED}\nmoved {{\n  from = kafka_topic.u\n  to = kafka_topic.t\n}}\n"
    found = load_files(tmp_path, {"main.tf": calls, "m/main.tf": inner})
    assert found.refactorings.moved == (
        ('module.m["x"].kafka_topic.u', 'module.m["x"].kafka_topic.t'),
        ('module.m["y"].kafka_topic.u', 'module.m["y"].kafka_topic.t'),
    )


@pytest.mark.parametrize(
    ("lifecycle", "removed"),
    [
        ("", ()),
        ("lifecycle { destroy = true }", ()),
        ("lifecycle { destroy = false }", ("kafka_topic.gone",)),
        ("lifecycle { destroy = local.keep ? false : true }", ("kafka_topic.gone",)),
    ],
)
def test_a_removed_block_lets_go_only_where_it_says_not_to_destroy(
    tmp_path: Path, lifecycle: str, removed: tuple[str, ...]
) -> None:
    """Terraform destroys by default."""
    text = f"locals {{ keep = true }}\nremoved {{\n  from = kafka_topic.gone\n  {lifecycle}\n}}\n"
    found = load_files(tmp_path, {"main.tf": TOPICS + text})
    assert found.diagnostics == ()
    assert found.refactorings.removed == removed


def test_imports_are_repeated_by_for_each(tmp_path: Path) -> None:
    text = """
    locals { names = { a = "t.a", b = "t.b" } }
    import {
      for_each = local.names
      to       = kafka_topic.t[each.key]
      id       = each.value
    }
    """
    found = load_files(tmp_path, {"main.tf": TOPICS + text})
    assert found.diagnostics == ()
    assert [(str(each.address), each.identity) for each in found.refactorings.imports] == [
        ('kafka_topic.t["a"]', "t.a"),
        ('kafka_topic.t["b"]', "t.b"),
    ]


def test_an_import_reaches_into_a_module_and_keeps_its_place(tmp_path: Path) -> None:
    calls = 'module "m" {\n  source = "./m"\n  name = "x"\n}\n'
    text = 'import {\n  to = module.m.kafka_topic.t["a"]\n  id = "x.a"\n}\n'
    found = load_files(tmp_path, {"main.tf": calls + text, "m/main.tf": CALLED})
    (only,) = found.refactorings.imports
    assert only == ImportBlock(
        Address("kafka_topic", "t", "a", ("m",)), only.identity, only.declared_at
    )
    assert (only.declared_at.file, only.declared_at.line) == ("main.tf", 5)


def test_an_instance_that_is_still_or_not_declared_is_told_where_all_instances_are_known(
    tmp_path: Path,
) -> None:
    text = """
    moved {
      from = kafka_topic.t["a"]
      to   = kafka_topic.u
    }
    import {
      to = kafka_topic.t["z"]
      id = "t.z"
    }
    """
    found = load_files(tmp_path, {"main.tf": TOPICS + text})
    assert [each.code for each in found.diagnostics] == ["KP186", "KP188"]


def test_what_cannot_be_told_because_of_another_mistake_is_not_told(tmp_path: Path) -> None:
    broken = TOPICS.replace('toset(["a", "b"])', "null")
    text = 'import {\n  to = kafka_topic.t["a"]\n  id = "t.a"\n}\n'
    found = load_files(tmp_path, {"main.tf": broken + text})
    assert [each.code for each in found.diagnostics] == ["KP175"]
