"""Regular expressions of admins for texts of tenants. Rust's engine runs them: its time grows with the text, and no faster."""

from functools import cache

from pydantic_core import SchemaError, SchemaValidator, core_schema


@cache
def _build(pattern: str) -> SchemaValidator:
    return SchemaValidator(core_schema.str_schema(pattern=pattern))


def is_match(pattern: str, text: str) -> bool:
    """Whether the whole text is as the pattern says."""
    return _build(f"^(?:{pattern})$").isinstance_python(text)


def check_pattern(pattern: str) -> str:
    """Raises `ValueError`. Also for `a)|(b`, which is a pattern only where it stands in parentheses."""
    try:
        _build(pattern)
        is_match(pattern, "")
    except SchemaError:
        raise ValueError("must be a regular expression, without look-around and back-references") from None
    return pattern
