"""What the ingest of text logs costs in other layouts than Kafka's default one.

    python -m tests.bench.fleet_layouts [--lines 1000000]

All layouts have the same requests and times, and go into stores of their own in one Spark that is
warm. Shown is what each takes, and how many times what the default layout takes.
"""

import argparse
import tempfile
from pathlib import Path

from kplan.workflow.fleet import fleet
from tests.bench.fleet import open_bench
from tests.bench.fleet_engines import TOPICS, ingest_in
from tests.bench.fleet_made import log_lines

TIME, SAID = "substring(line, 2, 23)", "substring(line, 32)"
MESSAGE = f"substring_index({SAID}, ' (kafka.', 1)"
OUTER = "concat(replace(substring(line, 2, 19), ' ', 'T'), '.', lpad(id % 1000000000, 9, '0'), 'Z')"
UTC = "concat(replace(substring(line, 2, 19), ' ', 'T'), '.000Z')"
LAYOUTS = {
    "default": "line",
    "Strimzi": f"concat({TIME}, ' INFO ', {SAID}, ' [handler-', id % 8, ']')",
    "ISO, UTC": f"concat({UTC}, ' INFO ', {SAID})",
    "CRI": f"concat({OUTER}, ' stdout F ', line)",
    "Docker": f"""concat('{{"log":"', line, '\\\\n","stream":"stdout","time":"', {OUTER}, '"}}')""",
    "ECS": f"""concat('{{"@timestamp":"', {UTC}, '","message":"', {MESSAGE}, '"}}')""",
    "zone name": f"concat('[', {TIME}, ' GMT] INFO ', {SAID})",
}
"""As Spark makes them of a line in the default layout. The last one is left to Java."""


def main() -> None:
    """Measure every layout, and print."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--lines", type=int, default=1_000_000)
    lines = asked.parse_args().lines
    with tempfile.TemporaryDirectory(prefix="kplan-bench-") as place, open_bench("") as bench:
        made = log_lines(bench.spark, lines, TOPICS).selectExpr(
            "line", "hash(line) & 2147483647 as id"
        )
        made.write.parquet(f"{place}/made")
        found = {}
        for name, layout in {"warm": "line", **LAYOUTS}.items():
            folder = Path(place, name)
            rows = bench.spark.read.parquet(f"{place}/made").selectExpr(f"{layout} as line")
            rows.write.text(str(folder / "logs"))
            options, took = ingest_in(folder, bench)
            used = fleet.open_store(bench.spark, fleet.read_fleet(options)).usage()
            sums = used.selectExpr("sum(count)", "min(first_at)", "max(last_at)").first()
            found[name] = (took, sums)
            if name != "warm":
                print(
                    f"  {name:<10} {took}, {took.over(found['default'][0])} of the default one",
                    flush=True,
                )
        if len({sums for _, sums in found.values()}) != 1:
            raise AssertionError(found)


if __name__ == "__main__":
    main()
