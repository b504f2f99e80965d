"""The topic `platforms`: what the table of platforms says, with its sources."""

from kplan.cli.code_page import read_page
from kplan.cluster.platform import Platform
from kplan.policy.platform_table import PLATFORM_RULES

_SIGNS = {
    Platform.AIVEN: "brokers in `aivencloud.com`",
    Platform.CONFLUENT_CLOUD: "brokers in `confluent.cloud`, or a cluster id such as `lkc-abc123`",
    Platform.KAFKA: "never: declare it",
    Platform.MSK: "brokers such as `b-1.NAME.kafka.REGION.amazonaws.com`",
    Platform.MSK_SERVERLESS: "brokers such as `boot-NAME.kafka-serverless.REGION.amazonaws.com`",
    Platform.REDPANDA: "a cluster id that begins with `redpanda.`",
    Platform.STRIMZI: "brokers such as `NAME-kafka-brokers.NAMESPACE.svc`",
}


def platforms_page() -> str:
    """Return the page in Markdown."""
    lines = [
        read_page("platforms"),
        "## Recognition",
        "",
        "| Platform | Recognized by |",
        "|---|---|",
    ]
    lines += [f"| `{each}` | {_SIGNS[each]} |" for each in Platform]
    for platform in Platform:
        rules = [each for each in PLATFORM_RULES if each.platform is platform]
        if rules:
            lines += ["", f"## {platform.label}", ""]
            lines += [
                f"- {rule.effect.capitalize()} ({rule.code}): `{rule.kind}`: {rule.about}.\n"
                f"  <{rule.page}>"
                for rule in rules
            ]
    return "\n".join(lines) + "\n"
