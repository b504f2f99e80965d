"""The sections of a page about a fleet, in the order in which they are shown."""

from kplan.report.documents.fleet.charts import (
    anomaly_tallies,
    cost_tallies,
    drift_tallies,
    inventory_tallies,
    recommendation_tallies,
    size_series,
    trend_tallies,
    unused_tallies,
    usage_series,
)
from kplan.report.documents.fleet.section import NextStep, SectionKind, TableKind

_NO_LOG = ("No authorizer log was ingested.", "kplan fleet audit ingest")
_REMOVE = NextStep("kplan fleet audit usage -removed=DIR", "Write HCL that removes unused objects")
_LINT = "kplan fleet lint"

SECTIONS: tuple[SectionKind, ...] = (
    SectionKind(
        "Health",
        (
            TableKind("unread", "Not read", "kplan fleet snapshot"),
            TableKind("unhealthy", "Partitions without a leader or replicas", "kplan fleet report"),
            TableKind(
                "violations",
                "Policy violations",
                _LINT,
                NextStep(_LINT, "Show policy violations"),
            ),
            TableKind("health", "Clusters", "kplan fleet report"),
        ),
        ("The run does not contain the health of partitions.", "kplan fleet snapshot"),
    ),
    SectionKind(
        "Drift and changes",
        (
            TableKind(
                "drift",
                "Drift and problems",
                "kplan fleet drift",
                NextStep("kplan fleet drift", "Show objects that were changed outside kplan"),
            ),
            TableKind(
                "to_do",
                "Pending changes",
                "kplan fleet plan",
                NextStep("kplan fleet plan", "Review each change before it is applied"),
            ),
            TableKind(
                "undeclared",
                "Clusters with unknown drift",
                "kplan fleet drift",
                NextStep("kplan import -all -generate-config=FILE", "Declare the existing objects"),
            ),
        ),
        ("No cluster was compared with its configuration.", "kplan fleet drift"),
        drift_tallies,
    ),
    SectionKind(
        "Inventory",
        (
            TableKind("inventory", "Inventory", "kplan fleet inventory"),
            TableKind("largest", "Largest topics", "kplan fleet inventory -top=100"),
            TableKind("owners", "Owners", "kplan fleet inventory"),
        ),
        ("No run was stored.", "kplan fleet snapshot"),
        inventory_tallies,
    ),
    SectionKind(
        "Access",
        (
            TableKind(
                "who_can",
                "Who can read and write the largest topics",
                "kplan fleet access who-can READ TOPIC:NAME",
            ),
            TableKind("broad_acls", "Broad permissions", "kplan fleet report"),
            TableKind(
                "idle_acls",
                "ACLs without effect",
                _LINT,
                NextStep(_LINT, "Take out ACLs without effect"),
            ),
        ),
        ("No run was stored.", "kplan fleet snapshot"),
    ),
    SectionKind(
        "Usage",
        (
            TableKind("denials", "Denied requests", "kplan fleet report"),
            TableKind("used", "Used resources", "kplan fleet audit usage"),
        ),
        _NO_LOG,
        series=usage_series,
        data=frozenset({"requests_by_day"}),
    ),
    SectionKind(
        "Unused objects",
        (
            TableKind(
                "unused_acls",
                "ACLs that no logged request used",
                "kplan fleet audit usage",
                _REMOVE,
                frozenset({"identity"}),  # its parts have columns of their own
            ),
            TableKind("unused_topics", "Unused topics", "kplan fleet audit usage", _REMOVE),
            TableKind(
                "unheard",
                "Clusters with unknown ACL use",
                "kplan fleet audit usage",
                NextStep(
                    "kplan help fleets", "Let brokers log allowed requests, and configure the logs"
                ),
            ),
        ),
        (f"{_NO_LOG[0][:-1]}, so unused topics are unknown.", _NO_LOG[1]),
        unused_tallies,
    ),
    SectionKind(
        "Recommendations",
        (
            TableKind(
                "recommended",
                "ACLs to remove or narrow, by cluster",
                "kplan fleet recommend",
                NextStep("kplan fleet recommend -hcl=DIR", "Write narrower ACLs as HCL, replayed"),
            ),
            TableKind("recommendations", "ACLs to remove or narrow", "kplan fleet recommend"),
        ),
        _NO_LOG,
        recommendation_tallies,
    ),
    SectionKind(
        "Costs",
        (
            TableKind("costs", "Use and costs of owners, by month", "kplan fleet costs"),
            TableKind("coverage", "Known days of each month", "kplan fleet costs"),
        ),
        ("No run was stored.", "kplan fleet snapshot"),
        cost_tallies,
    ),
    SectionKind(
        "Trends",
        (
            TableKind(
                "trends",
                "Growth, and the days on which limits are met",
                "kplan fleet trends",
                NextStep("kplan fleet trends", "Look at what is near its limit"),
            ),
        ),
        ("No run was stored.", "kplan fleet snapshot"),
        trend_tallies,
        size_series,
        frozenset({"sizes_by_day"}),
    ),
    SectionKind(
        "Anomalies",
        (
            TableKind(
                "anomalies",
                "What is new in the logs, and rises",
                "kplan fleet anomalies",
                NextStep("kplan fleet anomalies", "Find out who is new"),
                unknown="left_out",
            ),
            TableKind("left_out", "Clusters with unknown anomalies", "kplan fleet anomalies"),
        ),
        _NO_LOG,
        anomaly_tallies,
    ),
)
