"""Writes the page."""

from tests.values import PAGE, VALUES, build_page, read_values

PAGE.write_text(build_page(read_values(VALUES.read_text())))
