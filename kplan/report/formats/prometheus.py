"""Gauges in Prometheus's text format, for node_exporter's textfile collector or a push gateway."""

from collections.abc import Iterable, Mapping

from kplan.report.data import Gauge


def prometheus_text(gauges: Iterable[Gauge]) -> str:
    """Write gauges, the help of each name once."""
    by_name: dict[str, list[Gauge]] = {}
    for each in gauges:
        by_name.setdefault(each.name, []).append(each)
    lines: list[str] = []
    for name, members in by_name.items():
        lines += [f"# HELP {name} {_escape(members[0].description)}", f"# TYPE {name} gauge"]
        lines += [f"{name}{_labels(each.labels)} {_number(each.value)}" for each in members]
    return "".join(f"{each}\n" for each in lines)


def _labels(labels: Mapping[str, str]) -> str:
    detail = ",".join(f'{key}="{_escape(each, quote=True)}"' for key, each in labels.items())
    return f"{{{detail}}}" if detail else ""


def _escape(text: str, *, quote: bool = False) -> str:
    found = text.replace("\\", "\\\\").replace("\n", "\\n")
    return found.replace('"', '\\"') if quote else found


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
