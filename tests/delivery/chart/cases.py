"""The values files that the chart is tried with, and their recorded renderings.

RENEW_CHART=1 with `pytest tests/delivery/test_chart_renderings.py` writes the recordings, and the chart's README, anew.
"""

from __future__ import annotations

import os
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
VALUES = HERE / "values"
GOLDEN = HERE / "golden"
NAMES = sorted(path.stem for path in VALUES.glob("*.yaml"))
RENEW = os.environ.get("RENEW_CHART") == "1"
# What monitoring and networks get has tests of its own.
RECORDED = ("deployment", "configmap", "secret", "serviceaccount", "rbac", "pdb")


def values(name: str) -> pathlib.Path:
    return VALUES / f"{name}.yaml"


def recorded_part(rendering: str) -> str:
    """The documents of those templates, in helm's order."""
    sources = tuple(f"# Source: haproxy-k8s-sync/templates/{name}.yaml\n" for name in RECORDED)
    return "---\n".join(["", *(text for text in rendering.split("---\n") if text.startswith(sources))])
