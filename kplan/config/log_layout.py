"""Layouts of logs by name, and log4j patterns as regular expressions.

Patterns are those of `PatternLayout` of log4j 1 and 2:
https://logging.apache.org/log4j/2.x/manual/pattern-layout.html
"""

import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from kplan.model.dataclass import dataclass
from kplan.model.log_layout import MESSAGE_BEGINNING, LogLayout

_JSON = r'(?s)^\s*\{{.*"(?:{})"\s*:'
LAYOUTS: Mapping[str, str] = {
    "kafka": r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] ",
    "cri": r"^\d{4}-\d\d-\d\dT\S+ (?:stdout|stderr) [FP] ",
    "syslog": r"^(?:<\d{1,3}>1 |(?:<\d{1,3}>)?[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d )",
    "cloudwatch": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ",
    "cloudwatch-json": r'(?s)^\s*\{(?!.*"(?:severity|short_message)"\s*:).*"timestamp"\s*:',
    "docker-json": _JSON.format("log"),
    "log4j2-json": _JSON.format("instant|timeMillis"),
    "ecs-json": _JSON.format("@timestamp"),
    "confluent-json": _JSON.format("specversion"),
    "gcp-json": _JSON.format("severity"),
    "gelf-json": _JSON.format("short_message"),
}
"""What lines of each layout with a name begin with."""

_NAME, _ANY, _NUMBER, _NOTHING = r"\S{0,300}?", r".{0,300}?", r"-?\d{1,20}", ""
"""They are bounded, so that no line takes long."""
_MESSAGE = rf"({MESSAGE_BEGINNING}.*?)"
_CONVERSIONS: Mapping[str, str] = {
    **dict.fromkeys(("c", "logger", "C", "class", "M", "method", "F", "file", "u", "uuid"), _NAME),
    **dict.fromkeys(("t", "tn", "thread", "threadName", "l", "location", "marker"), _ANY),
    **dict.fromkeys(("X", "mdc", "MDC", "x", "NDC", "K", "map", "MAP"), _ANY),
    **dict.fromkeys(("p", "level"), r"\w+"),
    **dict.fromkeys(("L", "line"), r"(?:\d+|\?)?"),
    **dict.fromkeys(("r", "relative", "T", "tid", "threadId", "tp", "threadPriority"), _NUMBER),
    **dict.fromkeys(("sn", "sequenceNumber", "pid", "processId", "N", "nano"), _NUMBER),
    **dict.fromkeys(("ex", "exception", "throwable", "xEx", "xThrowable"), _NOTHING),
    **dict.fromkeys(("rEx", "rThrowable"), _NOTHING),  # the authorizer logs none
    "n": r"\s*",
    "%": "%",
}
_DATES, _MESSAGES = ("d", "date"), ("m", "msg", "message")
_UNREAD = (
    *("black", "blue", "cyan", "green", "magenta", "red", "white", "yellow", "style", "highlight"),
    *("enc", "encode", "equals", "equalsIgnoreCase", "replace", "repeat", "R", "maxLen"),
    *("maxLength", "notEmpty", "varsNotEmpty", "variablesNotEmpty", "endOfBatch", "fqcn"),
    *("markerSimpleName", "xException", "rException"),
)
"""Names of log4j that are refused: they begin with the name of another conversion, or none."""
_LONGEST_FIRST = sorted((*_CONVERSIONS, *_DATES, *_MESSAGES, *_UNREAD), key=len, reverse=True)
"""As log4j looks for them."""
_CONVERSION = re.compile(
    r"%(?P<format>(?P<is_left>-?)0?(?P<width>\d*)(?:[.]-?\d+)?)"
    rf"(?:(?P<name>{'|'.join(map(re.escape, _LONGEST_FIRST))})|(?P<other>[A-Za-z]*))"
    r"(?P<options>(?:\{[^{}]*\})*)"
)
_USUAL = "yyyy-MM-dd HH:mm:ss"
_DATE_FORMATS: Mapping[str, str] = {
    "": f"{_USUAL},SSS",
    "DEFAULT": f"{_USUAL},SSS",
    "DEFAULT_PERIOD": f"{_USUAL}.SSS",
    "DEFAULT_MICROS": f"{_USUAL},SSSSSS",
    "DEFAULT_NANOS": f"{_USUAL},SSSSSSSSS",
    "ISO8601": f"{_USUAL},SSS",
    "ISO8601_PERIOD": f"{_USUAL}.SSS",
    "ISO8601_PERIOD_MICROS": f"{_USUAL}.SSSSSS",
    "ISO8601_OFFSET_DATE_TIME_HH": f"{_USUAL},SSSX",
    "ISO8601_OFFSET_DATE_TIME_HHMM": f"{_USUAL},SSSXX",
    "ISO8601_OFFSET_DATE_TIME_HHCMM": f"{_USUAL},SSSXXX",
    "ISO8601_BASIC": "yyyyMMdd'T'HHmmss,SSS",
    "ISO8601_BASIC_PERIOD": "yyyyMMdd'T'HHmmss.SSS",
    "COMPACT": "yyyyMMddHHmmssSSS",
    "DATE": "dd MMM yyyy HH:mm:ss,SSS",
    "DATE_PERIOD": "dd MMM yyyy HH:mm:ss.SSS",
    "ABSOLUTE": "HH:mm:ss,SSS",
    "ABSOLUTE_PERIOD": "HH:mm:ss.SSS",
    "US_MONTH_DAY_YEAR4_TIME": "MM/dd/yyyy HH:mm:ss.SSS",
    "US_MONTH_DAY_YEAR2_TIME": "MM/dd/yy HH:mm:ss.SSS",
}
_EPOCHS = {"UNIX": ("epoch_s", r"(\d{1,11})"), "UNIX_MILLIS": ("epoch_ms", r"(\d{1,14})")}
_DATE_TOKEN = re.compile(
    r"'(?P<quoted>[^']*)'|(?P<open>')|(?P<letters>[A-Za-z]+)|(?P<literal>[^A-Za-z']+)"
)
_OFFSET = r"(Z|[+-]\d\d(?::?\d\d)?)"
_ZONE_NAME = (
    r"(?:GMT|UTC|UT)[+-]\d{1,2}(?::?\d\d)?|Etc/GMT[+-]\d{1,2}|[A-Z]{1,5}"
    r"|[A-Z][a-z]+/[A-Z][A-Za-z_/-]+"
)
_FIELDS: Mapping[str, str] = {
    **dict.fromkeys("yu", "year"),
    **dict.fromkeys("Sn", "fraction"),
    **dict.fromkeys("zVZXx", "zone"),
    "M": "month",
    "d": "day",
    "H": "hour",
    "m": "minute",
    "s": "second",
}
_NEEDED = ("day", "month", "year", "hour", "minute")
_YEAR_LENGTH, _NAME_LENGTH = 2, 3


@dataclass(frozen=True, slots=True)
class PatternProblem:
    """What is wrong with a log4j pattern, and what to do."""

    detail: str
    hint: str


def translate_pattern(text: str) -> tuple[LogLayout | None, list[PatternProblem]]:
    """Translate a log4j pattern to the layout of a whole line of the authorizer.

    None is the layout where there are problems: all of them are listed.
    """
    found = _Translation([], [], [])
    at = 0
    for conversion in _CONVERSION.finditer(text):
        found.regex.append(re.escape(text[at : conversion.start()]))
        found.add(conversion)
        at = conversion.end()
    found.regex.append(re.escape(text[at:]))
    found.check_fields()
    if found.problems:
        return None, found.problems
    regex = rf"(?s)^{''.join(found.regex)}\s*$"
    return LogLayout(text, regex, tuple(found.fields), found.zone), []


@dataclass(slots=True)
class _Translation:
    """The regular expression of a pattern so far, what its groups are, and what is wrong."""

    regex: list[str]
    fields: list[str]
    problems: list[PatternProblem]
    zone: str = ""

    def add(self, conversion: re.Match[str]) -> None:
        """Add what a conversion writes, with the blanks that its width adds."""
        name = conversion["name"]
        if name is None or name in _UNREAD:
            self._refuse_conversion(conversion)
            return
        options = re.findall(r"\{([^{}]*)\}", conversion["options"])
        if name in _DATES:
            written = self._date(options)
        elif name in _MESSAGES:
            self.fields.append("message")
            written = _MESSAGE
        else:
            written = _CONVERSIONS[name]
        if conversion["width"]:
            written = rf"{written} *" if conversion["is_left"] else rf" *{written}"
        self.regex.append(written)

    def check_fields(self) -> None:
        """Find what a line needs and the pattern does not have, or has twice."""
        if self.problems:
            return
        if self.fields.count("message") != 1:
            self._refuse("The pattern needs one message.", "Write %m once, where the message is.")
        time = [each.partition("_")[0] for each in self.fields if each != "message"]
        missing = [each for each in _NEEDED if "epoch" not in time and each not in time]
        if missing:
            detail = f"The time in the pattern has no {', '.join(missing)}."
            self._refuse(detail, "Write a whole date and time, as %d{yyyy-MM-dd HH:mm:ss,SSS}.")
        elif len(time) != len(set(time)) or ("epoch" in time and len(time) > 1):
            self._refuse("The pattern has two times.", "Write %d once, with each of its parts.")

    def _date(self, options: list[str]) -> str:
        form = options[0] if options else ""
        if len(options) > 1:
            self._set_zone(options[1])
        if form in _EPOCHS:
            field, regex = _EPOCHS[form]
            self.fields.append(field)
            return regex
        regex = "".join(self._date_parts(_DATE_FORMATS.get(form, form)))
        # log4j 1 writes a blank here, and log4j 2 a T
        return regex.replace(r"\ ", "[T ]") if form.startswith("ISO8601") else regex

    def _set_zone(self, name: str) -> None:
        try:
            self.zone = ZoneInfo(name).key
        except (ZoneInfoNotFoundError, ValueError, OSError):
            detail = f'"{name}" is not the name of a time zone.'
            self._refuse(detail, "Write a name as UTC or Europe/Berlin.")

    def _date_parts(self, form: str) -> Iterator[str]:
        for token in _DATE_TOKEN.finditer(form):
            if token["open"]:
                self._refuse(f"The date format {form} has an open quote.", "Close it with '.")
                return
            if token["letters"]:
                for letter, run in groupby(token["letters"]):
                    yield self._date_part(letter, len(list(run)))
            else:
                yield re.escape(token["literal"] or token["quoted"] or "'")

    def _date_part(self, letter: str, length: int) -> str:
        if letter == "E":
            return "[A-Za-z]+"
        field = _FIELDS.get(letter)
        if field is None:
            detail = f'kplan does not read "{letter}" in a date format.'
            self._refuse(detail, f"It reads {' '.join(sorted({*_FIELDS, 'E'}))}.")
            return ""
        if field == "year":
            self.fields.append("year_short" if length == _YEAR_LENGTH else "year")
            return rf"(\d{{{_YEAR_LENGTH if length == _YEAR_LENGTH else 4}}})"
        if field == "month" and length >= _NAME_LENGTH:
            self.fields.append("month_name")
            return r"([A-Z][a-z]{2})[a-z]*\.?"
        if field == "zone" and letter in "zV" and self.zone:
            # that of China is CST, as is that of Chicago
            return f"(?:{_ZONE_NAME})"
        self.fields.append(field)
        if field == "zone":
            return f"({_ZONE_NAME})" if letter in "zV" else _OFFSET
        return rf"(\d{{{length}}})" if length > 1 else r"(\d{1,9})"

    def _refuse_conversion(self, conversion: re.Match[str]) -> None:
        written = f"%{conversion['format']}{conversion['name'] or conversion['other']}"
        detail = f'kplan does not read "{written}", at character {conversion.start() + 1}.'
        hint = "It reads %d %p %c %C %t %X %m %n and %%; write other text of the line as it is."
        self._refuse(detail, hint)

    def _refuse(self, detail: str, hint: str) -> None:
        self.problems.append(PatternProblem(detail, hint))
