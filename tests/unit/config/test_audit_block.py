"""`audit` blocks in the clusters of a fleet file."""

from pathlib import Path

from kplan.config.fleet_file import FleetConfiguration, load_fleet
from kplan.config.inputs import Inputs


def load_cluster(folder: Path, body: str) -> FleetConfiguration:
    (folder / "fleet.hcl").write_text(f'cluster "a" {{\n  snapshot = "a"\n{body}}}\n')
    return load_fleet(folder, Inputs(environ={}))


def test_blocks_name_layouts_beside_the_list_of_logs(tmp_path: Path) -> None:
    found = load_cluster(
        tmp_path,
        '  audit = ["any.log"]\n'
        '  audit {\n    files = ["eu/*", "s3a://logs/*"]\n    layout = "log4j2-json"\n  }\n'
        '  audit {\n    files = ["us/*"]\n    layout = "%d{UNIX} %m%n"\n  }\n'
        '  audit { files = ["more.log"] }\n',
    )
    assert not found.diagnostics
    (cluster,) = found.clusters
    assert cluster.audit == (str(tmp_path / "any.log"), str(tmp_path / "more.log"))
    assert [(each.patterns, each.layout.text) for each in cluster.audit_files] == [
        ((str(tmp_path / "eu/*"), "s3a://logs/*"), "log4j2-json"),
        ((str(tmp_path / "us/*"),), "%d{UNIX} %m%n"),
    ]


def test_the_label_of_a_block_names_its_files(tmp_path: Path) -> None:
    found = load_cluster(
        tmp_path,
        '  audit "eu/*" { layout = "cri" }\n  audit "any.log" {}\n  audit "kafka://audit" {}\n',
    )
    assert not found.diagnostics
    (cluster,) = found.clusters
    assert cluster.audit == (str(tmp_path / "any.log"), "kafka://audit")
    assert [(each.patterns, each.layout.text) for each in cluster.audit_files] == [
        ((str(tmp_path / "eu/*"),), "cri")
    ]


def test_the_files_of_a_block_are_named_once(tmp_path: Path) -> None:
    found = load_cluster(
        tmp_path,
        '  audit "json" {\n    files  = ["eu/*"]\n    layout = "cri"\n  }\n'
        '  audit "a" "b" { layout = "cri" }\n'
        '  audit "kafka://audit" { layout = "cri" }\n'
        "  audit {}\n",
    )
    told = [
        (each.code, each.subject.line, each.subject.column, each.hint)
        for each in found.diagnostics
        if each.subject
    ]
    assert told == [
        ("KP129", 4, 14, "Remove one of the two."),
        ("KP125", 7, 13, ""),
        ("KP637", 8, 3, 'Name it in the cluster block: audit = ["kafka://audit"]'),
        ("KP122", 9, 9, ""),
    ]


def test_every_mistake_of_audit_blocks_is_reported_at_its_place(tmp_path: Path) -> None:
    found = load_cluster(
        tmp_path,
        '  audit {\n    files  = ["a"]\n    layout = "log4j-json"\n  }\n'
        '  audit {\n    files  = ["b"]\n    layout = "%d %q %m %w"\n  }\n'
        '  audit {\n    files  = ["kafka://audit"]\n    layout = "ecs-json"\n  }\n'
        '  audit {\n    layout = "cri"\n    zone = "UTC"\n  }\n',
    )
    told = [
        (each.code, each.subject.line, each.subject.column)
        for each in found.diagnostics
        if each.subject
    ]
    assert told == [
        ("KP635", 5, 14),
        ("KP636", 9, 14),
        ("KP636", 9, 14),
        ("KP637", 12, 14),
        ("KP122", 15, 9),
        ("KP121", 17, 5),
    ]
    by_code = {each.code: each for each in found.diagnostics}
    assert by_code["KP635"].hint == 'Did you mean "log4j2-json"?'
    assert "%d %p %c" in by_code["KP636"].hint
    assert by_code["KP637"].hint.endswith('audit = ["kafka://audit"]')
