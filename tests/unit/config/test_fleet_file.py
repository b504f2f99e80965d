from pathlib import Path

import pytest

from kplan.config.fleet_file import FleetConfiguration, load_fleet
from kplan.config.inputs import Inputs
from kplan.config.load import load_configuration
from kplan.kinds import KINDS
from kplan.model.fleet import SECRET_SETTINGS

WHOLE = """
variable "password" {
  type      = string
  sensitive = true
}
locals { region = "eu" }

cluster "prod" {
  labels        = { region = local.region, critical = true }
  configuration = "prod"
  audit         = ["logs/*.log"]
  deadline_s    = 30

  audit_time_zone = "Europe/Berlin"
  provider "kafka" {
    bootstrap_servers = ["kafka-1:9092"]
    sasl_password     = var.password
  }
}
cluster "lab" { snapshot = "lab.jsonl.gz" }
store { path = "tables" }
spark { conf = { "spark.driver.memory" = "2g" } }
"""


def load_file(folder: Path, text: str, **environ: str) -> FleetConfiguration:
    (folder / "fleet.hcl").write_text(text)
    return load_fleet(folder, Inputs(environ=environ))


def codes_and_lines(found: FleetConfiguration) -> list[tuple[str, int]]:
    return [(each.code, each.subject.line if each.subject else 0) for each in found.diagnostics]


def test_a_fleet_names_clusters_store_and_spark(tmp_path: Path) -> None:
    found = load_file(tmp_path, WHOLE, KPLAN_VAR_password="secret")
    lab, prod = found.clusters
    assert not found.diagnostics
    assert (lab.name, lab.snapshot) == ("lab", tmp_path / "lab.jsonl.gz")
    assert prod.labels == {"region": "eu", "critical": "true"}
    assert prod.audit_time_zone == "Europe/Berlin"
    assert prod.state == tmp_path / "prod/state/kplan.json"
    assert prod.provider is not None
    assert prod.provider.arguments["sasl_password"] == "secret"
    assert "secret" not in repr(found)
    assert (found.store, found.spark_conf) == (
        str(tmp_path / "tables"),
        {"spark.driver.memory": "2g"},
    )
    assert found.store_format == "parquet"


@pytest.mark.parametrize(
    ("conf", "names"),
    [
        ('{ "spark.a" = "1", "spark.b" = var.password }', "spark.b"),
        ('sensitive({ "spark.a" = "1", "spark.b" = "2" })', "spark.a,spark.b"),
        ('{ "spark.a" = "1" }', None),
        ("null", None),
    ],
)
def test_sensitive_settings_of_spark_are_known_by_name(
    tmp_path: Path, conf: str, names: str | None
) -> None:
    text = WHOLE[: WHOLE.index("spark {")] + f"spark {{ conf = {conf} }}\n"
    found = load_file(tmp_path, text, KPLAN_VAR_password="secret")
    assert not found.diagnostics
    assert found.spark_conf.get(SECRET_SETTINGS) == names
    assert "secret'" not in repr(found)


@pytest.mark.parametrize(("name", "own"), [("spark.master", "master"), ("spark.remote", "remote")])
def test_an_address_of_spark_among_its_settings_is_told(
    name: str, own: str, tmp_path: Path
) -> None:
    found = load_file(
        tmp_path, f'cluster "a" {{ snapshot = "a" }}\nspark {{ conf = {{ "{name}" = "x" }} }}\n'
    )
    (told,) = found.diagnostics
    assert (told.code, told.detail) == ("KP139", f"conf cannot set {name}.")
    assert told.hint == f'Use {own} = "URL".'


def test_a_store_and_logs_may_be_in_any_file_system(tmp_path: Path) -> None:
    for place in ("s3a://bucket/fleet", "hdfs:/fleet", "file:/srv/fleet", "file:///srv/fleet"):
        text = f'cluster "a" {{\n snapshot = "a"\n audit = ["{place}"]\n}}\n'
        found = load_file(tmp_path, f'{text}store {{ path = "{place}" }}\n')
        assert (found.store, found.clusters[0].audit) == (place, (place,))


def test_a_store_may_be_of_delta_tables(tmp_path: Path) -> None:
    found = load_file(tmp_path, 'cluster "a" { snapshot = "a" }\nstore { format = "delta" }\n')
    assert not found.diagnostics
    assert found.store_format == "delta"


def test_a_store_of_iceberg_tables_may_be_in_a_catalog(tmp_path: Path) -> None:
    lab = 'cluster "a" { snapshot = "a" }\n'
    found = load_file(
        tmp_path, f'{lab}store {{\n format = "iceberg"\n catalog = "lake.sales"\n}}\n'
    )
    assert not found.diagnostics
    assert (found.store_format, found.store_catalog) == ("iceberg", "lake.sales")
    for wrong in ('catalog = "lake"', 'format = "iceberg"\n catalog = "a.b.c"'):
        assert [
            code
            for code, _ in codes_and_lines(load_file(tmp_path, f"{lab}store {{\n {wrong}\n}}\n"))
        ] == ["KP139"]


def test_every_mistake_of_a_fleet_file_is_told_at_once(tmp_path: Path) -> None:
    found = load_file(
        tmp_path,
        'cluster "a" {\n  labels = 3\n  colour = 1\n}\n'
        'store { format = "csv" }\nstore {}\nregion "x" {}\n'
        'cluster "b" {\n  snapshot   = "b"\n  deadline_s = 0\n'
        '  audit_time_zone = "../Mars"\n}\n',
    )
    assert codes_and_lines(found) == [
        ("KP139", 1),
        ("KP139", 2),
        ("KP121", 3),
        ("KP139", 5),
        ("KP128", 6),
        ("KP120", 7),
        ("KP139", 10),
        ("KP139", 11),
    ]


@pytest.mark.parametrize("name", ["", " "])
def test_clusters_and_teams_have_names(tmp_path: Path, name: str) -> None:
    found = load_file(
        tmp_path,
        f'cluster "{name}" {{\n  snapshot = "a"\n}}\nteam "{name}" {{\n  owners = ["a"]\n}}\n',
    )
    assert [(each.code, each.detail) for each in found.diagnostics] == [
        ("KP139", "A cluster has a name."),
        ("KP139", "A team has a name."),
    ]


def test_a_folder_without_a_fleet_file_is_told(tmp_path: Path) -> None:
    (missing,) = load_fleet(tmp_path, Inputs()).diagnostics
    assert missing.code == "KP118"
    assert "kplan help fleets" in missing.hint


def test_the_fleet_file_is_no_configuration_of_a_cluster(tmp_path: Path) -> None:
    (tmp_path / "fleet.hcl").write_text('cluster "lab" { snapshot = "lab.jsonl" }')
    (tmp_path / "main.tf").write_text("locals { a = 1 }")
    assert not load_configuration(tmp_path, Inputs(), KINDS).diagnostics


def test_names_that_nobody_declared_are_told(tmp_path: Path) -> None:
    text = """
    cluster "a" { snapshot = var.none }
    cluster "b" {
      snapshot = local.none
      provider "kafka" { bootstrap_servers = [nothing.here] }
    }
    spark { conf = { x = each.key } }
    """
    assert [line for _, line in codes_and_lines(load_file(tmp_path, text))] == [2, 4, 5, 7]


def test_words_are_words_in_lists_and_maps_too(tmp_path: Path) -> None:
    text = """
cluster "a" {
  snapshot = "a"
  labels   = { team = ["x"] }
  audit    = [null]
}
spark { conf = { "spark.x" = {} } }
"""
    assert codes_and_lines(load_file(tmp_path, text)) == [("KP139", 4), ("KP139", 5), ("KP139", 7)]


def test_a_misspelt_block_is_told_what_it_may_be(tmp_path: Path) -> None:
    (found,) = load_file(tmp_path, 'clutser "a" { snapshot = "a" }\n').diagnostics
    assert (found.code, found.hint) == ("KP120", 'Did you mean "cluster"?')
