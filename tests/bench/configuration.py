"""What loading a configuration costs, as ratios to python-hcl2's bare parse in the same run.

    python -m tests.bench.configuration

CPU time, the best of several runs in turn. The exponent says how cost grows from 1,000 to 10,000
blocks (1.0 is linear).
"""

import gc
import math
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from kplan.config.inputs import Inputs
from kplan.config.load import Configuration, load_configuration
from kplan.kinds import KINDS

HEAD = 'variable "prefix" { default = "p" }\nvariable "env" { default = "prod" }\n'
BLOCK = """resource "kafka_topic" "t{number}" {{
  name               = "${{var.prefix}}.orders.v{number}"
  partitions         = var.env == "prod" ? 12 : 3
  replication_factor = local.rf
  config = {{
    "retention.ms"      = 604800000
    "cleanup.policy"    = "delete"
    "max.message.bytes" = "1048576"
  }}
}}
"""
MANY = """locals {
  rf     = 3
  keys   = flatten([for a in range(100) : [for b in range(100) : "t${a * 100 + b}"]])
  topics = { for key in local.keys : key => { partitions = 3 } }
}
resource "kafka_topic" "t" {
  for_each           = local.topics
  name               = "${var.prefix}.orders.${each.key}"
  partitions         = var.env == "prod" ? each.value.partitions : 3
  replication_factor = local.rf
  config = {
    "retention.ms"   = 604800000
    "cleanup.policy" = "delete"
  }
}
"""


def blocks(count: int) -> str:
    """Write a configuration of many resource blocks."""
    return HEAD + "locals { rf = 3 }\n" + "".join(BLOCK.format(number=at) for at in range(count))


def folder(parent: Path, name: str, text: str) -> Path:
    """Write a folder with one file."""
    (parent / name).mkdir()
    (parent / name / "main.tf").write_text(text, encoding="utf-8")
    return parent / name


def seconds(work: Callable[[], object]) -> float:
    """CPU time of one run."""
    gc.collect()
    start = time.process_time()
    work()
    return time.process_time() - start


def loading(path: Path, inputs: Inputs) -> Callable[[], Configuration]:
    """Make the work of one load, which must find nothing wrong."""

    def work() -> Configuration:
        found = load_configuration(path, inputs, KINDS)
        if found.diagnostics:
            raise AssertionError(found.diagnostics[0])
        return found

    return work


def main() -> None:
    """Measure and print the table."""
    from hcl2 import parses_to_tree

    with tempfile.TemporaryDirectory() as name:
        parent = Path(name)
        text = blocks(1000)
        thousand, ten = folder(parent, "1k", text), folder(parent, "10k", blocks(10_000))
        many = folder(parent, "many", HEAD + MANY)

        works: dict[str, Callable[[], object]] = {
            "python-hcl2, 1,000 blocks": lambda: parses_to_tree(text),
            "1,000 blocks": loading(thousand, Inputs()),
            "10,000 blocks": loading(ten, Inputs()),
            "10,000 instances of one block": loading(many, Inputs()),
        }
        works["python-hcl2, 1,000 blocks"]()
        works["1,000 blocks"]()
        best = dict.fromkeys(works, math.inf)
        for _ in range(3):
            for each, work in works.items():
                best[each] = min(best[each], seconds(work))
    floor = best["python-hcl2, 1,000 blocks"]
    for each, cpu in best.items():
        print(f"{each:32} {cpu:7.3f} s   {cpu / floor:6.3f} x")
    exponent = math.log10(best["10,000 blocks"] / best["1,000 blocks"])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"exponent {exponent:.2f}, peak memory {peak:.0f} MiB")


if __name__ == "__main__":
    main()
