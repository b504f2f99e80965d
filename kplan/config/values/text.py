"""The form that every string value has."""

import unicodedata


def clean_text(text: str) -> str:
    """Bring a text to Unicode's composed form (NFC); halves of surrogate pairs become U+FFFD."""
    if text.isascii():
        return text
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return unicodedata.normalize("NFC", whole)
