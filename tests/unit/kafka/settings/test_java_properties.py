"""Java properties files as Java reads them."""

from kplan.kafka.settings.java import JaasLogin, Property, parse_jaas_login, parse_properties


def pairs(text: str) -> dict[str, str]:
    return {each.key: each.value for each in parse_properties(text)}


def test_separators_comments_and_blank_lines_are_those_of_java() -> None:
    text = "# comment\n! another\n\na=1\nb: 2\nc 3\n d \t=\t 4 \ne=\nf\n"
    assert pairs(text) == {"a": "1", "b": "2", "c": "3", "d": "4 ", "e": "", "f": ""}


def test_only_the_first_separator_counts() -> None:
    assert pairs("a=b=c\nd==e\nf : :g\n") == {"a": "b=c", "d": "=e", "f": ":g"}


def test_escapes_are_taken_back() -> None:
    text = r"a\=b\:c\ d=\u0041\t\n\q\\" + "\n" + r"smile=\ud83d\ude00"
    assert pairs(text) == {"a=b:c d": "A\t\nq\\", "smile": "\U0001f600"}


def test_a_backslash_at_the_end_joins_lines_and_two_do_not() -> None:
    text = "a=1,\\\n   2,\\\n   3\nb=x\\\\\nc=3\nd=\\\n# no comment here\n"
    assert pairs(text) == {"a": "1,2,3", "b": "x\\", "c": "3", "d": "# no comment here"}


def test_every_line_ending_is_one() -> None:
    assert pairs("a=1\rb=2\r\nc=3\nd=4\\") == {"a": "1", "b": "2", "c": "3", "d": "4"}


def test_an_entry_knows_the_line_on_which_it_begins() -> None:
    assert parse_properties("\na=1\\\n2\nb=3") == (Property("a", "12", 2), Property("b", "3", 4))


def test_values_are_not_in_the_repr() -> None:
    assert "hush" not in repr(parse_properties("sasl.password=hush"))


def test_a_jaas_login_is_read_with_quotes_and_without() -> None:
    line = 'org.apache.X required\n  username=u password=\'x\' serviceName="a\\\\b\\"c" ;'
    assert parse_jaas_login(line) == JaasLogin(
        "X", {"username": "u", "password": "'x'", "serviceName": 'a\\b"c'}
    )
    assert parse_jaas_login("X required;") == JaasLogin("X", {})


def test_what_is_no_jaas_login_is_none() -> None:
    for line in ("", "username=u", "X username=u;", "{}"):
        assert parse_jaas_login(line) is None
