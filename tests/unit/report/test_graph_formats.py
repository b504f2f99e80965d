"""Graphs for Graphviz and for Mermaid."""

from kplan.model.table import Graph, Node, NodeType
from kplan.report.project_views import graph_dot, graph_mermaid

GRAPH = Graph(
    nodes=(
        Node((), "check.c", NodeType.CHECK),
        Node((), "local.a-b", NodeType.LOCAL),
        Node((), "local.a_b", NodeType.LOCAL),
        Node((), "provider.kafka", NodeType.PROVIDER),
        Node((), "kafka_topic.t", NodeType.RESOURCE),
        Node((), "module.m", NodeType.MODULE),
        Node(("m",), "output.o", NodeType.OUTPUT),
        Node(("m",), "module.n", NodeType.MODULE),
        Node(("m", "n"), "var.é", NodeType.VARIABLE),
    ),
    edges=(
        ("check.c", "kafka_topic.t"),
        ("local.a-b", "local.a_b"),
        ("local.a_b", "local.a-b"),
        ("module.m.module.n.var.é", "module.m"),
    ),
    cycle_edges=frozenset({("local.a-b", "local.a_b"), ("local.a_b", "local.a-b")}),
)
DOT = """digraph G {
  rankdir = "RL";
  node [shape = rect, fontname = "sans-serif"];
  "check.c" [label="check.c", shape=octagon];
  "local.a-b" [label="local.a-b", shape=ellipse];
  "local.a_b" [label="local.a_b", shape=ellipse];
  "provider.kafka" [label="provider.kafka", shape=diamond];
  "kafka_topic.t" [label="kafka_topic.t"];
  subgraph "cluster_module.m" {
    label = "module.m"
    fontname = "sans-serif"
    "module.m" [label="module.m", shape=tab];
    "module.m.output.o" [label="output.o", shape=cds];
    subgraph "cluster_module.m.module.n" {
      label = "module.m.module.n"
      fontname = "sans-serif"
      "module.m.module.n" [label="module.n", shape=tab];
      "module.m.module.n.var.é" [label="var.é", shape=note];
    }
  }
  "check.c" -> "kafka_topic.t";
  "local.a-b" -> "local.a_b" [color = "red"];
  "local.a_b" -> "local.a-b" [color = "red"];
  "module.m.module.n.var.é" -> "module.m";
}
"""
MERMAID = """flowchart RL
  check_c{{"check.c"}}
  local_a_b(["local.a-b"])
  local_a_b_2(["local.a_b"])
  provider_kafka{"provider.kafka"}
  kafka_topic_t["kafka_topic.t"]
  subgraph in_module_m["module.m"]
    module_m[["module.m"]]
    module_m_output_o[\\"output.o"\\]
    subgraph in_module_m_module_n["module.m.module.n"]
      module_m_module_n[["module.n"]]
      module_m_module_n_var__[/"var.é"/]
    end
  end
  check_c --> kafka_topic_t
  local_a_b --> local_a_b_2
  local_a_b_2 --> local_a_b
  module_m_module_n_var__ --> module_m
  linkStyle 1,2 stroke:red
"""


def test_graphviz_shows_modules_as_clusters_and_circles_in_red() -> None:
    assert graph_dot(GRAPH) == DOT


def test_mermaid_shows_the_same_under_names_that_it_can_read() -> None:
    assert graph_mermaid(GRAPH) == MERMAID


def test_an_empty_configuration_is_an_empty_graph() -> None:
    assert graph_dot(Graph((), ())).count("\n") == 4
    assert graph_mermaid(Graph((), ())) == "flowchart RL\n"
