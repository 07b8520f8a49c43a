"""Writes the pages and the schema."""

import yaml

from tests.reference import FOLDER, build_pages, values

for name, text in build_pages().items():
    (FOLDER / name).write_text(text)
values.SCHEMA.write_text(values.fill_schema(values.SCHEMA.read_text(), yaml.safe_load(values.CRD.read_text())))
