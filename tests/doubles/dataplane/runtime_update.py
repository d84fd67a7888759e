"""The one write that lands in the file and in the running HAProxy without a reload: PUT of a server by version."""

from __future__ import annotations

from typing import Any

from .runtime import Runtime, RuntimeRefused

ELIGIBLE = {"weight", "address", "port", "maintenance", "agent-check", "agent-addr", "agent-send", "health_check_port"}


def differing(wanted: dict[str, Any], had: dict[str, Any]) -> set[str]:
    """The fields in which two servers differ. Lists are not compared: the API's own blind spot."""
    return {k for k in {*wanted, *had} if wanted.get(k) != had.get(k)
            and not isinstance(wanted.get(k, had.get(k)), list)}


def apply(runtime: Runtime, backend: str, wanted: dict[str, Any], had: dict[str, Any]) -> bool:
    """True when the running HAProxy now is as desired, by commands alone."""
    fields = differing(wanted, had)
    if fields - ELIGIBLE:
        return False
    name = wanted["name"]
    try:
        if "weight" in fields:
            if wanted.get("weight") is None:  # taken away: the API falls over its own feet, and reloads
                return False
            runtime.set_weight(backend, name, wanted["weight"])
        if fields & {"address", "port"}:
            if wanted.get("port") is None:
                return False
            runtime.set_address(backend, name, wanted["address"], wanted["port"])
        if "maintenance" in fields:
            runtime.set_state(backend, name, "maint" if wanted.get("maintenance") == "enabled" else "ready")
        if wanted.get("agent-check") and "agent-check" in fields:
            runtime.agent(backend, name, wanted["agent-check"] == "enabled")
        for field, what in (("agent-addr", "agent-addr"), ("agent-send", "agent-send"),
                            ("health_check_port", "check-port")):
            if field in fields and field == "health_check_port" and wanted.get(field) is None:
                return False
            if field in fields:
                runtime.set(backend, name, what, wanted.get(field, ""))
    except (RuntimeRefused, OSError):
        return False
    return True
