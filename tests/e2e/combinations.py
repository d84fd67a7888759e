"""Which real parts are tried together. Every case runs on the full ones; the others run those cases that what differs could change
(marked every_combination): the oldest of each part are together in one. Cases about our own decisions, which come to HAProxy the
same way as all others, run on one each (one_combination). Each real Data Plane API with each HAProxy: `make e2e-full`."""

from __future__ import annotations

import dataclasses
import pathlib

from tests.harness import realparts


@dataclasses.dataclass(frozen=True)
class Combination:
    etcd: str       # a name of realparts.PARTS
    haproxy: str    # likewise
    dataplane: str  # "double-3.4", "double-3.0", "real" or "local": none, the daemon is beside HAProxy
    full: bool = False

    def __str__(self) -> str:
        return f"{self.etcd}+{self.haproxy}+" + (self.dataplane if self.is_local else f"dataplane-{self.dataplane}")

    @property
    def is_local(self) -> bool:
        return self.dataplane == "local"

    def parts(self) -> dict[str, pathlib.Path]:
        """The programs; raises realparts.Missing for the first that this machine cannot have."""
        names = [self.etcd, "kube-apiserver", self.haproxy] + (["dataplaneapi"] if self.dataplane == "real" else [])
        return {name: realparts.PARTS[name]() for name in names}


COMBINATIONS = (
    Combination("etcd", "haproxy-debian", "double-3.4", full=True),
    Combination("etcd-debian", "haproxy-ray", "double-3.0"),
    Combination("etcd", "haproxy-debian", "real", full=True),
    Combination("etcd", "haproxy-ray", "real"),
    Combination("etcd", "haproxy-chosen", "real", full=True),
    Combination("etcd", "haproxy-debian", "local", full=True),
    Combination("etcd", "haproxy-ray", "local"),
    Combination("etcd", "haproxy-chosen", "local", full=True),
)
