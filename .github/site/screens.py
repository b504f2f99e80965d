"""Make the pictures of the manual: a plan on a terminal, its HTML page and its comment.

Run it by hand from the top of the repository when the looks change; it needs chromium:

    .venv/bin/python .github/site/screens.py
"""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import markdown
from rich.console import Console
from rich.text import Text

import kplan
from kplan.report.format import TextStyle
from kplan.report.views import plan_text
from kplan.testing import MemoryCluster, PartitionUse, TopicUse

PICTURES = Path(__file__).parent / "pages" / "assets"
BEFORE = """
provider "kafka" {
  name              = "prod-eu"
  bootstrap_servers = ["kafka-1:9092"]
}

resource "kafka_topic" "orders" {
  name               = "shop.orders"
  partitions         = 6
  replication_factor = 3
  config             = { "retention.ms" = "604800000" }
}

resource "kafka_topic" "returns" {
  name               = "shop.returns"
  partitions         = 3
  replication_factor = 3
}

resource "kafka_acl" "checkout" {
  resource_type       = "Topic"
  resource_name       = kafka_topic.orders.name
  acl_principal       = "User:checkout"
  acl_host            = "*"
  acl_operation       = "Write"
  acl_permission_type = "Allow"
}
"""
REMOVED = re.compile(r'resource "kafka_topic" "returns" \{.*?\n\}\n', re.DOTALL)
ADDED = """
resource "kafka_acl" "billing" {
  for_each            = { Topic = "shop.orders", Group = "billing" }
  resource_type       = each.key
  resource_name       = each.value
  acl_principal       = "User:billing"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
"""
COMMENT = """<!doctype html><meta charset="utf-8"><style>
body {{ font: 14px/1.5 system-ui, "DejaVu Sans", sans-serif; margin: 16px; color: #1f2328; }}
article {{ border: 1px solid #d1d9e0; border-radius: 6px; }}
header {{ background: #f6f8fa; padding: 8px 16px; border-bottom: 1px solid #d1d9e0; }}
div {{ padding: 4px 16px; }}
pre {{ background: #f6f8fa; padding: 12px; border-radius: 6px; font: 12px "DejaVu Sans Mono"; }}
code {{ font: 12px "DejaVu Sans Mono"; background: #eff1f3; padding: 1px 4px; }}
pre code {{ background: none; padding: 0; }}
.add {{ background: #dafbe1; }} .del {{ background: #ffebe9; }}
table {{ border-collapse: collapse; }} td, th {{ border: 1px solid #d1d9e0; padding: 4px 12px; }}
</style><article><header><b>kafka-bot</b> commented on pull request #42</header>
<div>{body}</div></article>"""


def example_plan(folder: Path) -> kplan.Plan:
    """Apply one configuration to a cluster in memory, and plan the next one."""
    cluster = MemoryCluster()
    main = folder / "main.tf"
    main.write_text(BEFORE, encoding="utf-8")
    kplan.apply(kplan.plan(kplan.load(folder, connect=lambda _: cluster)))
    use = TopicUse({0: PartitionUse(0, 182_400, None, 91_000_000, 0)}, ())
    cluster.set_topic_use("shop.returns", use)
    after = REMOVED.sub("", BEFORE).replace("partitions         = 6", "partitions         = 12")
    main.write_text(after.replace("604800000", "86400000") + ADDED, encoding="utf-8")
    return kplan.plan(kplan.load(folder, connect=lambda _: cluster), max_deletes=1)


def terminal_picture(plan: kplan.Plan) -> str:
    """Draw the plan as a terminal shows it."""
    console = Console(record=True, width=100, file=open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - as long as python runs
    console.print("$ kplan plan", style="bold")
    console.print(Text.from_ansi(plan_text(plan._result.plan, TextStyle(width=98, colour=True))))
    return console.export_svg(title="kplan plan", font_aspect_ratio=0.6)


def comment_page(text: str) -> str:
    """Write the Markdown of a comment as the page of a service shows it."""
    opened = text.replace("<details>", '<details open markdown="1">')
    body = markdown.markdown(opened, extensions=["fenced_code", "tables", "md_in_html"])
    colored = [_color(line) for line in body.split("\n")]
    return COMMENT.format(body="\n".join(colored))


def _color(line: str) -> str:
    """Mark a line of a diff; the first of a block follows its tags."""
    tags, text = re.fullmatch(r"((?:<pre><code[^>]*>)?)(.*)", line, re.DOTALL).groups()  # type: ignore[union-attr] - matches any text
    name = {"+": "add", "-": "del"}.get(text[:1], "")
    return f'{tags}<span class="{name}">{text}</span>' if name and text[1:2] in " /" else line


def photograph(page: Path, picture: Path, size: str) -> None:
    """Let chromium draw a page of this machine."""
    chromium = shutil.which("chromium") or "chromium"
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars")
    command = [
        chromium,
        *options,
        f"--window-size={size}",
        f"--screenshot={picture}",
        page.as_uri(),
    ]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own page


def main() -> None:
    """Make all pictures."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plan = example_plan(folder)
        (PICTURES / "plan.svg").write_text(terminal_picture(plan), encoding="utf-8")
        page, comment = folder / "plan.html", folder / "comment.html"
        page.write_text(plan.render("html"), encoding="utf-8")
        comment.write_text(comment_page(plan.render("markdown")), encoding="utf-8")
        photograph(page, PICTURES / "report.png", "1100,1000")
        photograph(comment, PICTURES / "comment.png", "900,1000")


if __name__ == "__main__":
    main()
