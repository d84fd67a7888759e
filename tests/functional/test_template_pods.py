"""Templates in the manner of an older system of pods: what Jinja2 makes of them is what tests/unit/template/test_pods.c holds us to."""

from __future__ import annotations

import json
import os
import pathlib
import re
from typing import Any

import jinja2
import pytest

DATA = pathlib.Path(__file__).resolve().parents[1] / "data/templates/pods"


class OldDict(dict[str, Any]):
    """A dict of Python 2, which such templates were written for."""

    def itervalues(self) -> Any:
        return self.values()


def is_ready(pod: dict[str, Any]) -> bool:
    return "podIP" in pod["status"] and all(container["ready"] for container in pod["status"]["containerStatuses"])


def chosen(pod: dict[str, Any], service: dict[str, Any]) -> bool:
    labels = pod["metadata"]["labels"]
    return pod["metadata"]["namespace"] == service["namespace"] and {
        "web": labels.get("app") == "web", "blog": labels.get("app") == "blog", "api": labels.get("tier") == "back", "idle": False}[service["name"]]


def read_cluster() -> dict[str, Any]:
    cluster: dict[str, Any] = json.loads((DATA / "cluster.json").read_text(), object_hook=OldDict)
    return cluster


def variables(cluster: dict[str, Any]) -> dict[str, Any]:
    services = []
    for name, text in sorted(cluster["services"]["data"].items()):
        service = OldDict(json.loads(text, object_hook=OldDict), name=name)
        pods = sorted(cluster["pods"], key=lambda pod: str(pod["metadata"]["name"]))
        service["pods"] = OldDict((pod["metadata"]["name"], pod) for pod in pods if is_ready(pod) and chosen(pod, service))
        services.append(service)
    return {"services": services, "ssldir": cluster["ssldir"], "stats": {"username": "stats", "password": cluster["statistics_password"]},
            "certificates": sorted(cluster["certificates"]["data"].keys() & cluster["keys"]["data"].keys()),
            "env": dict(pair.split("=", 1) for pair in cluster["env"] if not pair.startswith("DATAPLANE_"))}


def rendered(template: str, cluster: dict[str, Any]) -> str:
    env = jinja2.Environment()
    env.filters["re_escape"] = re.escape
    return env.from_string(template).render(variables(cluster))


@pytest.mark.parametrize("example", sorted(path.stem for path in DATA.glob("*.j2")))
def test_the_recorded_text_is_jinja2s(example: str) -> None:
    text = rendered((DATA / f"{example}.j2").read_text(), read_cluster())
    recorded = DATA / f"{example}.expected"
    if os.environ.get("RENEW_TEMPLATES"):
        recorded.write_text(text)
    assert recorded.read_text() == text
