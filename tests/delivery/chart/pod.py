"""What the daemon would meet in the rendered pod: its environment, and the files that are mounted from Secrets and ConfigMaps."""

from __future__ import annotations

import base64
import pathlib
from collections.abc import Callable

from .helm import Document, only

# What Kubernetes puts there: of a Secret of this release what it holds; of any other, what the caller makes up.
Content = Callable[[str, str], str]  # (mounted as, key) -> text


def container(found: list[Document]) -> Document:
    return next(c for c in only(found, "Deployment")["spec"]["template"]["spec"]["containers"] if c["name"] == "haproxy-k8s-sync")


def settings(found: list[Document]) -> dict[str, str]:
    """Of the ConfigMap and of the container's own variables, which go before it."""
    there = container(found)
    name = there["envFrom"][0]["configMapRef"]["name"]
    env = dict(next(d for d in found if d["kind"] == "ConfigMap" and d["metadata"]["name"] == name)["data"])
    env.update((e["name"], e["value"]) for e in there.get("env", []))
    return env


def _sources(volume: Document) -> list[tuple[str, list[dict[str, str]]]]:
    """The Secrets and ConfigMaps of a volume: [(name, items)]."""
    if "secret" in volume:
        return [(volume["secret"]["secretName"], volume["secret"]["items"])]
    parts = [part.get("secret") or part["configMap"] for part in volume.get("projected", {}).get("sources", [])]
    return [(part["name"], part["items"]) for part in parts]


def mounted(found: list[Document], made_up: Content) -> dict[str, str]:
    """Path in the container -> text."""
    own = {d["metadata"]["name"]: {k: base64.b64decode(v).decode() for k, v in d["data"].items()}
           for d in found if d["kind"] == "Secret"}
    volumes = {v["name"]: v for v in only(found, "Deployment")["spec"]["template"]["spec"].get("volumes", [])}
    files = {}
    for mount in container(found).get("volumeMounts", []):
        for name, items in _sources(volumes[mount["name"]]):
            for item in items:
                path = f"{mount['mountPath']}/{item['path']}"
                files[path] = own[name][item["key"]] if name in own else made_up(item["path"], item["key"])
    return files


def unpacked(found: list[Document], root: pathlib.Path, made_up: Content) -> dict[str, str]:
    """Writes those files under root; the settings, with their paths there."""
    files = mounted(found, made_up)
    for path, text in files.items():
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return {name: str(root / value.lstrip("/")) if value in files else value for name, value in settings(found).items()}


def assert_runs_once(spec: Document, args: list[str], found: list[Document]) -> None:
    """A pod beside the daemon's: one command, with the same image, settings, files, rights and place."""
    one, own = spec["containers"][0], container(found)
    assert len(spec["containers"]) == 1 and spec["restartPolicy"] == "Never" and one["args"] == args
    for part in ("image", "imagePullPolicy", "command", "env", "envFrom", "volumeMounts", "securityContext"):
        assert one.get(part) == own.get(part), part
    daemon = only(found, "Deployment")["spec"]["template"]["spec"]
    differs = {"containers", "initContainers", "restartPolicy", "terminationGracePeriodSeconds"}
    assert {k: v for k, v in spec.items() if k not in differs} == {k: v for k, v in daemon.items() if k not in differs}
