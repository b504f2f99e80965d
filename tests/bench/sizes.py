"""The estates that are measured, and their configuration."""

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Size:
    """So many topics of 3 partitions and 3 configs, and so many ACLs."""

    topics: int
    acls: int

    def __str__(self) -> str:
        """Name the size."""
        return f"{self.topics:,} topics + {self.acls:,} ACLs"


SMALL = Size(1_000, 2_000)
LARGE = Size(5_000, 10_000)

CONFIG = {"retention.ms": "86400000", "segment.ms": "3600000", "cleanup.policy": "delete"}


def topic_names(size: Size) -> list[str]:
    """Name the topics."""
    return [f"bench-{number:05}" for number in range(size.topics)]


def principals(size: Size) -> list[str]:
    """Name the principals, each with one ACL on one topic."""
    return [f"User:bench-{number:05}" for number in range(size.acls)]


def write_configuration(size: Size, folder: Path) -> None:
    """Declare the estate with two blocks and for_each, as a platform team would."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = "\n".join(f'    "{key}" = "{value}"' for key, value in CONFIG.items())
    estate = {
        "topics": topic_names(size),
        "readers": {
            principal: f"bench-{number % size.topics:05}"
            for number, principal in enumerate(principals(size))
        },
    }
    (folder / "estate.json").write_text(json.dumps(estate))
    (folder / "main.tf").write_text(
        f"""
locals {{
  estate = jsondecode(file("${{path.module}}/estate.json"))
}}

provider "kafka" {{}}

resource "kafka_topic" "t" {{
  for_each           = toset(local.estate.topics)
  name               = each.key
  partitions         = 3
  replication_factor = 1
  config = {{
{settings}
  }}
}}

resource "kafka_acl" "a" {{
  for_each            = local.estate.readers
  resource_name       = each.value
  resource_type       = "Topic"
  acl_principal       = each.key
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}}
"""
    )
