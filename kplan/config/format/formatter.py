"""Formatting of a whole file."""

from kplan.config.format.layout import laid_out
from kplan.config.format.tidying import tidied
from kplan.config.format.tokens import UnreadableError, tokens, trailing_space
from kplan.config.syntax.parse import parse_file
from kplan.config.syntax.source import Source
from kplan.model.errors import ConfigError, KplanError


def format_text(text: str, file: str) -> str:
    """Lay out the text of an HCL file as `terraform fmt` does; `file` names it in problems.

    Raises:
        ConfigError: the text has a syntax error.
        KplanError: the result would not have the same tokens, which is a defect of the formatter.

    """
    problems = parse_file(Source(file, text), is_body=True).diagnostics
    if problems:
        raise ConfigError(problems)
    try:
        given = tokens(text)
        wanted = tidied(given)
        result = laid_out(wanted) + trailing_space(text, given)
        found = tokens(result)
    except UnreadableError:
        raise KplanError(f"{file} cannot be formatted") from None
    if found != wanted:
        raise KplanError(f"{file} would not say the same if it were formatted")
    return result
