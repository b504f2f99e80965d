"""Java properties files."""

from pathlib import Path

from kplan.sandbox.runtime import format_properties, write_private_file


def test_plain_settings_are_written_as_they_are() -> None:
    written = format_properties(
        {"listeners": "CLIENT://127.0.0.1:9092", "super.users": "User:CN=a,O=b"}
    )
    assert written == "listeners=CLIENT://127.0.0.1:9092\nsuper.users=User:CN=a,O=b\n"


def test_what_java_would_read_otherwise_is_escaped() -> None:
    """The rules of java.util.Properties.load."""
    assert format_properties({"a key": "c:\\dir\nnext"}) == "a\\ key=c:\\\\dir\\nnext\n"
    assert format_properties({"k:=": " led by a space"}) == "k\\:\\==\\ led by a space\n"
    assert format_properties({"#k": "#v"}) == "\\#k=\\#v\n"


def test_everything_beyond_ascii_is_escaped_as_utf_16() -> None:
    assert format_properties({"k": "ü€"}) == "k=\\u00fc\\u20ac\n"
    assert format_properties({"k": "\U0001f600"}) == "k=\\ud83d\\ude00\n"


def test_a_private_file_replaces_a_public_one(tmp_path: Path) -> None:
    file = tmp_path / "admin.properties"
    file.write_text("old", encoding="utf-8")
    file.chmod(0o644)
    write_private_file(file, "new")
    assert file.read_text(encoding="utf-8") == "new"
    assert file.stat().st_mode & 0o777 == 0o600
