"""Precision and recall of anomalies: `python -m tests.bench.anomalies [--seeds N] [--clusters N]`.

Each seed makes two months of logs with known anomalies of the last two days, see
`tests/fleet/seeded_logs.py`. The table adds up all seeds.
"""

from argparse import ArgumentParser
from collections import defaultdict

from kplan.fleet.insight.anomalies import (
    ANOMALY_COLUMNS,
    Watch,
    anomaly_table,
    cluster_history,
    subject_history,
)
from kplan.fleet.spark.session import SparkSettings, open_session
from kplan.model.fleet import AnomalyRow, AnomalyRules
from tests.fleet.seeded_logs import (
    LAST_DAY,
    Injected,
    Score,
    scores_by_finding,
    seeded_logs,
    usage_of,
)


def measure_scores(seeds: int, clusters: int) -> dict[str, Score]:
    """Score the findings of all seeds, by sort."""
    rules = AnomalyRules()
    watch = Watch.until(LAST_DAY, rules)
    sums: dict[str, list[Score]] = defaultdict(list)
    with open_session(SparkSettings("local[2,4]")) as spark:
        for seed in range(seeds):
            seeded = seeded_logs(seed, clusters)
            used = usage_of(spark, seeded.rows)
            asked = (used, watch, rules)
            table = anomaly_table(
                subject_history(*asked), cluster_history(*asked), watch, rules
            ).select(*ANOMALY_COLUMNS)
            rows = [AnomalyRow(*row) for row in table.collect()]
            told = [Injected(r.cluster, r.finding, r.principal, r.subject) for r in rows]
            for sort, each in scores_by_finding(told, seeded):
                sums[sort].append(each)
    return {sort: Score(*map(sum, zip(*scores, strict=True))) for sort, scores in sums.items()}


def main() -> None:
    """Print the table."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--clusters", type=int, default=5)
    asked = parser.parse_args()
    print("| finding | found | injected | right | precision | recall |\n|---|---|---|---|---|---|")
    for sort, each in measure_scores(asked.seeds, asked.clusters).items():
        counts = f"{each.found} | {each.injected} | {each.right}"
        print(f"| {sort} | {counts} | {each.precision:.3f} | {each.recall:.3f} |")


if __name__ == "__main__":
    main()
