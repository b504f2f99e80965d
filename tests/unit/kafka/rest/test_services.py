"""Services that no one names are neither loaded nor contacted."""

import subprocess
import sys

from kplan.kafka.rest.services import RestServices
from kplan.kafka.settings.connection import ConnectionSettings, Endpoint

SCRIPT = """
import sys
import kplan.kafka.cluster, kplan.kinds, kplan.workflow.plan.plan
print(sorted(each for each in sys.modules if each.startswith("kplan.kafka.rest.")))
"""


def test_http_is_loaded_for_a_service_that_is_used_only() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "['kplan.kafka.rest.services']"


def test_a_connection_without_services_gives_none() -> None:
    services = RestServices(ConnectionSettings((Endpoint("localhost", 1),)))
    assert services.schema_registry() is None
    assert services.kafka_connect() is None
    services.close()
