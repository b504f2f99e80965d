"""Modules: local folders called with inputs, with for_each and count, nested."""

from pathlib import Path

from kplan.kinds.topic_rules import Topic
from tests.unit.config.load_helper import diagnostic_text, load_files

TOPIC_MODULE = """
variable "name" {
  type = string
}
variable "partitions" {
  type    = number
  default = 3
}
resource "kafka_topic" "this" {
  name       = var.name
  partitions = var.partitions
}
output "name" {
  value = kafka_topic.this.name
}
output "folder" {
  value = path.module
}
"""


def test_a_module_is_called_with_inputs_and_gives_outputs(tmp_path: Path) -> None:
    main = """
    module "orders" {
      source     = "./modules/topic"
      name       = "orders"
      partitions = "6"
    }
    output "name" { value = module.orders.name }
    output "folder" { value = module.orders.folder }
    """
    found = load_files(tmp_path, {"main.tf": main, "modules/topic/main.tf": TOPIC_MODULE})
    assert found.diagnostics == ()
    (topic,) = found.resources
    assert str(topic.address) == "module.orders.kafka_topic.this"
    assert topic.value == Topic("orders", 6)
    assert str(topic.declared_at) == "modules/topic/main.tf:9:1"
    assert [each.value for each in found.outputs] == ["modules/topic", "orders"]
    assert set(found.sources) == {"main.tf", "modules/topic/main.tf"}


def test_modules_repeat_with_for_each_and_count(tmp_path: Path) -> None:
    main = """
    module "keyed" {
      source   = "./topic"
      for_each = { a = 1, b = 2 }
      name     = "k-${each.key}"
      partitions = each.value
    }
    module "counted" {
      source = "./topic"
      count  = 2
      name   = "c-${count.index}"
    }
    output "all" {
      value = {
        keyed   = { for key, each in module.keyed : key => each.name }
        one     = module.keyed["b"].name
        counted = module.counted[*].name
      }
    }
    """
    found = load_files(tmp_path, {"main.tf": main, "topic/main.tf": TOPIC_MODULE})
    assert [diagnostic_text(each) for each in found.diagnostics] == []
    assert [str(each.address) for each in found.resources] == [
        "module.counted[0].kafka_topic.this",
        "module.counted[1].kafka_topic.this",
        'module.keyed["a"].kafka_topic.this',
        'module.keyed["b"].kafka_topic.this',
    ]
    assert found.outputs[0].value == {
        "keyed": {"a": "k-a", "b": "k-b"},
        "one": "k-b",
        "counted": ["c-0", "c-1"],
    }


def test_modules_may_use_each_others_outputs_where_values_do_not_go_round(tmp_path: Path) -> None:
    main = """
    module "a" {
      source = "./pair"
      first  = "x"
      second = module.b.first
    }
    module "b" {
      source = "./pair"
      first  = module.a.first
      second = "y"
    }
    output "second" { value = module.a.second }
    """
    pair = """
    variable "first" {}
    variable "second" {}
    output "first" { value = "${var.first}!" }
    output "second" { value = var.second }
    """
    found = load_files(tmp_path, {"main.tf": main, "pair/main.tf": pair})
    assert found.diagnostics == ()
    assert found.outputs[0].value == "x!!"


def test_a_circle_through_modules_is_told_with_every_hop(tmp_path: Path) -> None:
    main = """module "a" {
  source = "./one"
  in     = module.b.out
}
module "b" {
  source = "./one"
  in     = module.a.out
}
"""
    one = """variable "in" {}
output "out" { value = var.in }
"""
    found = load_files(tmp_path, {"main.tf": main, "one/main.tf": one})
    (problem,) = found.diagnostics
    assert problem.code == "KP145"
    for hop in ("module.a.var.in", "module.b.output.out", "module.b.var.in", "module.a.output.out"):
        assert hop in problem.detail


def test_modules_nest_and_sources_count_from_their_own_folder(tmp_path: Path) -> None:
    outer = """
    variable "prefix" {}
    module "inner" {
      source = "../topic"
      name   = "${var.prefix}-inner"
    }
    """
    main = """
    module "outer" {
      source = "./modules/outer"
      prefix = "p"
    }
    """
    files = {
        "main.tf": main,
        "modules/outer/main.tf": outer,
        "modules/topic/main.tf": TOPIC_MODULE,
    }
    found = load_files(tmp_path, files)
    assert found.diagnostics == ()
    assert [str(each.address) for each in found.resources] == [
        "module.outer.module.inner.kafka_topic.this"
    ]


def test_wrong_calls_of_modules_are_told_at_the_block(tmp_path: Path) -> None:
    main = """module "missing" {
  source = "./topic"
}
module "typo" {
  source    = "./topic"
  name      = "x"
  partitons = 3
}
module "type" {
  source     = "./topic"
  name       = "y"
  partitions = "many"
}
module "registry" {
  source  = "terraform-aws-modules/msk/aws"
  version = "1.0"
}
module "nowhere" {
  source = "./nowhere"
}
output "bad" {
  value = module.typo.nam
}
"""
    found = load_files(tmp_path, {"main.tf": main, "topic/main.tf": TOPIC_MODULE})
    problems = [(each.code, str(each.subject)) for each in found.diagnostics]
    assert problems == [
        ("KP122", "main.tf:1:18"),
        ("KP121", "main.tf:7:3"),
        ("KP171", "main.tf:12:16"),
        ("KP194", "main.tf:15:13"),
        ("KP193", "main.tf:19:12"),
        ("KP144", "main.tf:22:22"),
    ]


def test_a_module_that_calls_itself_ends_with_an_error(tmp_path: Path) -> None:
    text = 'module "again" {\n  source = "./."\n}\n'
    found = load_files(tmp_path, {"main.tf": text})
    assert {each.code for each in found.diagnostics} == {"KP145"}


def test_a_problem_in_a_module_called_often_is_told_once(tmp_path: Path) -> None:
    main = 'module "m" {\n  source = "./m"\n  count = 3\n}\n'
    found = load_files(tmp_path, {"main.tf": main, "m/main.tf": "locals {\n  a = nope\n}\n"})
    assert [(each.code, str(each.subject)) for each in found.diagnostics] == [
        ("KP116", "m/main.tf:2:7")
    ]


def test_secrets_stay_secret_through_modules(tmp_path: Path) -> None:
    main = """
    variable "password" {
      default   = "hunter2"
      sensitive = true
    }
    module "m" {
      source = "./m"
      value  = var.password
    }
    output "leak" { value = module.m.same }
    """
    module = 'variable "value" {}\noutput "same" {\n value = var.value\n sensitive = true\n}\n'
    found = load_files(tmp_path, {"main.tf": main, "m/main.tf": module})
    assert [each.code for each in found.diagnostics] == ["KP177"]
    assert "hunter2" not in repr(found)


def test_a_template_file_is_rendered_with_its_variables_only(tmp_path: Path) -> None:
    main = """
    output "text" {
      value = templatefile("${path.module}/names.tmpl", { names = ["a", "b"] })
    }
    output "bad" {
      value = templatefile("names.tmpl", { other = 1 })
    }
    """
    files = {"main.tf": main, "names.tmpl": "%{ for n in names ~}\n- ${n}\n%{ endfor ~}\n"}
    found = load_files(tmp_path, files)
    assert found.outputs[0].value == "- a\n- b\n"
    (problem,) = found.diagnostics
    assert problem.code in {"KP152", "KP154"}
    assert "names.tmpl:1:13" in problem.detail
