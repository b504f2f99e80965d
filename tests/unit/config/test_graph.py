"""Who refers to whom, told by the text of the files alone."""

from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kplan.config import graph
from kplan.config.graph import ConfigurationGraph, build_graph, cycle_edges
from kplan.config.inputs import Inputs
from kplan.kinds import KINDS

EDGES = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("abcdefgh")), max_size=25)


def draw(folder: Path, text: str, **modules: str) -> ConfigurationGraph:
    (folder / "main.tf").write_text(text, encoding="utf-8")
    for name, inner in modules.items():
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "main.tf").write_text(inner, encoding="utf-8")
    return build_graph(folder, Inputs(), KINDS)


def edges(found: ConfigurationGraph) -> list[str]:
    assert found.diagnostics == ()
    return [f"{start} -> {end}" for start, end in found.graph.edges]


def test_every_sort_of_block_refers_to_what_its_arguments_name(tmp_path: Path) -> None:
    found = draw(
        tmp_path,
        """
variable "a" {}
variable "b" {
  validation {
    condition     = var.b != var.a
    error_message = "Same."
  }
}
locals { l = { for a in var.a : a => "${var.b}" } }
provider "kafka" {
  alias         = "eu"
  sasl_password = var.a
}
resource "kafka_topic" "t" {
  for_each = local.l
  name     = each.key
  provider = kafka.eu
  config   = { for name, a in local.l : name => path.module }
  lifecycle {
    ignore_changes = [partitions]
    precondition {
      condition     = var.b == "x"
      error_message = self.name
    }
  }
}
resource "kafka_topic" "u" {
  name       = kafka_topic.t["a"].name
  depends_on = [kafka_topic.t]
}
output "o" { value = kafka_topic.u }
check "c" {
  assert {
    condition     = terraform.workspace == kafka_topic.u.name
    error_message = "No."
  }
}
""",
    )
    assert edges(found) == [
        "check.c -> kafka_topic.u",
        "kafka_topic.t -> local.l",
        "kafka_topic.t -> provider.kafka.eu",
        "kafka_topic.t -> var.b",
        "kafka_topic.u -> kafka_topic.t",
        "local.l -> var.a",
        "local.l -> var.b",
        "output.o -> kafka_topic.u",
        "provider.kafka.eu -> var.a",
        "var.b -> var.a",
    ]
    assert found.graph.cycle_edges == frozenset()


MODULE = """
variable "x" {}
variable "y" { default = 1 }
output "p" { value = var.x }
output "q" { value = [var.x, var.y] }
"""


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ("module.m.p", ["p"]),
        ('module.m["a"].p', ["p"]),
        ("module.m[local.k][0].p.deeper", ["p"]),
        ("module.m[*].q", ["q"]),
        ("values(module.m)[*].q", ["", "p", "q"]),
        ("module.m", ["", "p", "q"]),
        ('[module.m["a"].p, module.m["b"].q]', ["p", "q"]),
    ],
)
def test_an_output_of_a_module_is_found_behind_its_index(
    tmp_path: Path, value: str, named: list[str]
) -> None:
    text = f"""
module "m" {{
  source = "./m"
  x      = 1
}}
locals {{ k = 1 }}
output "o" {{ value = {value} }}
"""
    found = edges(draw(tmp_path, text, m=MODULE))
    targets = [each.removeprefix("output.o -> module.m") for each in found if "output.o" in each]
    wanted = [f".output.{name}" if name else "" for name in named]
    assert [each for each in targets if each != "output.o -> local.k"] == wanted


@pytest.mark.parametrize("name", ["main.tf", "main.tf.json"])
def test_references_of_depends_on_may_be_quoted_and_count_as_others(
    tmp_path: Path, name: str
) -> None:
    """As before Terraform 0.12, and in JSON: `terraform validate` refuses what is not declared."""
    quoted = '["kafka_topic.t", "kafka_topic.t[0]", "module.gone", "kafka_topic.gone[each.key]"]'
    text = f"""
resource "kafka_topic" "t" {{
  name = "t"
}}
resource "kafka_topic" "u" {{
  name       = "u"
  depends_on = {quoted}
}}
"""
    if name.endswith(".json"):
        topics = f'{{"t": {{"name": "t"}}, "u": {{"name": "u", "depends_on": {quoted}}}}}'
        text = f'{{"resource": {{"kafka_topic": {topics}}}}}'
    (tmp_path / name).write_text(text, encoding="utf-8")
    found = build_graph(tmp_path, Inputs(), KINDS)
    told = [
        (each.code, text.splitlines()[at.line - 1][at.column - 1 : at.end_column - 1])
        for each in found.diagnostics
        if (at := each.subject) is not None
    ]
    assert sorted(told) == [("KP142", "kafka_topic.gone"), ("KP143", "module.gone")]
    assert ("kafka_topic.u", "kafka_topic.t") in [(start, end) for start, end in found.graph.edges]


def test_a_local_value_may_have_the_name_of_an_argument(tmp_path: Path) -> None:
    found = draw(tmp_path, 'locals {\n  depends_on = ["x", "kafka_topic.gone"]\n}\n')
    assert found.diagnostics == ()


def test_what_is_handed_to_a_module_depends_on_the_block_where_it_differs_per_instance(
    tmp_path: Path,
) -> None:
    text = """
variable "v" {}
module "m" {
  source   = "./m"
  for_each = toset(var.v)
  x        = each.key
  y        = var.v
}
"""
    assert edges(draw(tmp_path, text, m=MODULE)) == [
        "module.m -> var.v",
        "module.m.output.p -> module.m.var.x",
        "module.m.output.q -> module.m.var.x",
        "module.m.output.q -> module.m.var.y",
        "module.m.var.x -> module.m",
        "module.m.var.y -> var.v",
    ]


def test_nodes_are_in_the_same_order_whatever_the_order_of_the_text(tmp_path: Path) -> None:
    blocks = ['variable "v" {}', "locals { a = var.v }", 'output "o" { value = local.a }']
    there = draw(tmp_path, "\n".join(blocks)).graph
    assert draw(tmp_path, "\n".join(blocks[::-1])).graph == there


def test_words_that_name_no_value_lead_nowhere(tmp_path: Path) -> None:
    text = """
variable "where" { default = "./m" }
provider "kafka" { alias = var.where }
resource "kafka_topic" "t" {
  name     = "t"
  provider = kafka
}
module "m" { source = var.where }
"""
    found = draw(tmp_path, text, m=MODULE)
    assert edges(found) == ["module.m -> var.where", "provider.kafka -> var.where"]


def test_circles_are_found_and_drawn(tmp_path: Path) -> None:
    found = draw(tmp_path, "locals {\n a = local.b\n b = local.a\n c = local.a\n d = local.d\n}\n")
    assert found.graph.cycle_edges == {
        ("local.a", "local.b"),
        ("local.b", "local.a"),
        ("local.d", "local.d"),
    }


def test_modules_may_refer_to_each_other_without_a_circle(tmp_path: Path) -> None:
    """Outputs are worked out one by one, so `a` may use `b` and `b` may use `a`."""
    text = """
module "a" {
  source = "./m"
  x      = 1
  y      = module.b.p
}
module "b" {
  source = "./m"
  x      = module.a.p
}
"""
    assert draw(tmp_path, text, m=MODULE).graph.cycle_edges == frozenset()


def test_what_is_not_declared_is_told_once(tmp_path: Path) -> None:
    calls = "".join(f'module "{name}" {{ source = "./m" }}\n' for name in "mn")
    text = f'{calls}output "o" {{ value = local.x }}\n'
    found = draw(tmp_path, text, m='output "p" { value = var.nosuch }\n')
    assert [each.code for each in found.diagnostics] == ["KP140", "KP141"]
    assert found.graph.edges == ()


def test_a_module_that_calls_itself_or_is_not_there_is_drawn_empty(tmp_path: Path) -> None:
    text = 'module "m" { source = "./m" }\nmodule "far" { source = "git::x" }\n'
    found = draw(tmp_path, text, m='module "again" { source = "./." }\n')
    assert [each.address for each in found.graph.nodes] == [
        "module.far",
        "module.m",
        "module.m.module.again",
    ]


def test_modules_that_double_at_every_level_come_to_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph, "MAX_NODES", 100)
    calls = 'module "x" {{ source = "{0}" }}\nmodule "y" {{ source = "{0}" }}\n'
    levels = {f"m{at}": calls.format(f"../m{at + 1}") for at in range(30)}
    found = draw(tmp_path, calls.format("./m0"), **levels, m30="")
    assert {each.code for each in found.diagnostics} == {"KP114"}


@given(EDGES)
def test_an_edge_is_circular_if_its_end_leads_back_to_its_start(
    found: list[tuple[str, str]],
) -> None:
    following: dict[str, set[str]] = defaultdict(set)
    for start, end in found:
        following[start].add(end)

    def reached(start: str) -> set[str]:
        seen, pending = {start}, [start]
        while pending:
            new = following[pending.pop()] - seen
            seen |= new
            pending += new
        return seen

    expected = {(start, end) for start, end in found if start in reached(end)}
    assert cycle_edges(found) == expected


def test_a_long_chain_takes_no_stack() -> None:
    chain = [(f"n{at}", f"n{at + 1}") for at in range(50_000)]
    assert cycle_edges(chain) == frozenset()
    assert len(cycle_edges([*chain, ("n50000", "n0")])) == 50_001
