"""Names and text as SQL writes them."""

from __future__ import annotations

#: How text is escaped where a backslash escapes: BigQuery, Spark, Databricks, MySQL.
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r"}


def quote_name(name: str, quote: str = '"') -> str:
    """Write the name of a column in quotation marks."""
    return quote + name.replace(quote, 2 * quote) + quote


def quote_text(text: str, quote: str = '"') -> str:
    """Write text as a literal, which no text can end.

    Dialects that quote names by a backtick escape by a backslash, others double the
    quotation mark.
    """
    if quote == "`":
        escaped = "".join(_ESCAPES.get(char, char) for char in text)
    else:
        escaped = text.replace("'", "''")
    return f"'{escaped}'"
