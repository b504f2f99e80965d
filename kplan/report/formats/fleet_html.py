"""A page about a fleet as HTML: with the charts, tables and colours that its script adds."""

import json
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING

from kplan.report.documents.fleet.section import FleetPage, PageSeries
from kplan.report.formats.html import page_environment, page_template

if TYPE_CHECKING:
    from jinja2 import Template

_STYLES = ("uplot/uplot.min.css", "page.css", "fleet.css")
_SCRIPTS = ("uplot/uplot.min.js", "theme.js", "fleet.js")


def render_fleet_page(page: FleetPage) -> str:
    """Write the page; it needs no network and no second file."""
    return _template().render(page=page)


@cache
def _template() -> "Template":
    page_environment().filters["series"] = _series_json
    return page_template("fleet.html.j2", _STYLES, _SCRIPTS)


def _series_json(series: PageSeries) -> str:
    """Write days as seconds since 1970, as uPlot takes them."""
    days = [
        int(datetime.fromisoformat(each).replace(tzinfo=UTC).timestamp()) for each in series.days
    ]
    return json.dumps({"days": days, "lines": series.lines}, separators=(",", ":"))
