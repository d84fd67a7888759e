"""The table of values in the chart's README, from the schema's descriptions and the defaults in values.yaml."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

from .helm import CHART

BEGIN = "<!-- values: made from values.schema.json and values.yaml, RENEW_CHART=1 -->\n"
END = "<!-- /values -->\n"


def schema() -> dict[str, Any]:
    return json.loads((CHART / "values.schema.json").read_text())


def defaults() -> dict[str, Any]:
    return yaml.load((CHART / "values.yaml").read_text(), Loader=yaml.CSafeLoader)


def resolved(whole: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """What a $ref names, with what stands beside it."""
    if "$ref" not in part:
        return part
    return {**whole["definitions"][part["$ref"].rsplit("/", 1)[1]], **part}


def leaves(whole: dict[str, Any], part: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    for name, inner in part["properties"].items():
        inner = resolved(whole, inner)
        here = f"{path}.{name}" if path else name
        if "properties" in inner:
            yield from leaves(whole, inner, here)
        else:
            yield here, inner


def at(values: Any, path: str) -> Any:
    """None where it is not set."""
    for name in path.split("."):
        values = values.get(name) if isinstance(values, dict) else None
    return values


def _shown(value: Any) -> str:
    if value is None or value in ("", [], {}):
        return ""
    text = json.dumps(value) if isinstance(value, (dict, list, bool)) else str(value)
    return f"`{text}`" if len(text) <= 40 else "see values.yaml"


def table() -> str:
    whole, given = schema(), defaults()
    rows = ["| Value | Default | |", "|---|---|---|"]
    for path, leaf in leaves(whole, whole):
        rows.append(f"| `{path}` | {_shown(at(given, path))} | {leaf.get('description', '').replace('|', chr(92) + '|')} |")
    return "\n".join(rows) + "\n"


def renewed(page: str) -> str:
    found = re.search(re.escape(BEGIN) + ".*?" + re.escape(END), page, re.DOTALL)
    assert found, f"no place for the table: {BEGIN.strip()} ... {END.strip()}"
    return page[:found.start()] + BEGIN + table() + END + page[found.end():]
