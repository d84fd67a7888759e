"""The shipped template set `ingress` at work: the Kubernetes double with many Ingresses, the daemon, a HAProxy by its own files or behind a
Data Plane API."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import shutil
import time
from collections.abc import Iterator
from typing import Any

import yaml

from tests.harness import realparts
from tests.harness.daemon import Daemon
from tests.harness.haproxy import HEAD, DataPlane, HAProxy, RealDataPlane
from tests.harness.kube import KubeDouble
from tests.harness.local import LocalFiles
from tests.harness.process import ROOT

from .setup import haproxy as haproxy_program

SET = ROOT / "templates" / "ingress"
FIRST = HEAD + "\nfrontend fe\n  bind 127.0.0.1:{fe}\n  mode http\n  http-request return status 404\n"
USERS = "\nuserlist dataplaneapi\n  user admin insecure-password adminpwd\n"
APPLIED = 'msg="configuration applied"'
AT_ONCE, REFRACTORY_S = 5000, 0.15
Object = dict[str, Any]


def log_time(line: str) -> float:
    """Of a line of the daemon's log, in seconds."""
    found = re.search(r"time=(\d+-\d+-\d+T(\d+):(\d+):(\d+\.\d+))", line)
    assert found, line
    return int(found[2]) * 3600 + int(found[3]) * 60 + float(found[4])


class TemplateStage:
    def __init__(self, home: pathlib.Path, objects: dict[str, list[Object]], local: bool = True, wait_s: float = 60, **extra: Any):
        self.home, self.objects, self.local, self.wait_s = home, objects, local, wait_s
        home.mkdir(parents=True)
        (home / "kube").mkdir()
        self.kube = KubeDouble(home / "kube")
        self.haproxy = HAProxy(home / "haproxy", FIRST, str(haproxy_program()))
        self.plane: DataPlane
        if local:
            self.plane = LocalFiles(self.haproxy, home / "dataplane", counts_checks=False)
        else:
            self.plane = RealDataPlane(self.haproxy, home / "dataplane", str(realparts.dataplaneapi()), 0.02)
        self.set = home / "set"
        shutil.copytree(SET, self.set)
        tree = yaml.safe_load((self.set / "set.yaml").read_text())
        del tree["tests"]
        tree["extra"] |= {"http_bind": [f"127.0.0.1:{self.haproxy.port}"], "https_bind": [], "log": "stdout format raw local0", "server_options": "no-check",
                          "stats_socket": f"{self.haproxy.socket} mode 600 level admin expose-fd listeners"} | extra
        (self.set / "set.yaml").write_text(yaml.safe_dump(tree))
        if not local:  # without it the API would let nobody in any more
            (self.set / "snippets/global-users.j2").write_text(USERS)
        self.daemon = Daemon(home / "daemon", {
            "CONFIG_SOURCE": "template", "TEMPLATE_FROM": f"file:{self.set}", "CONFIG_MIN_INTERVAL": "0", "RESYNC_PERIOD": "1h",
            "STATE_DIR": str(home / "state"), "LOG_LEVEL": "debug", "TEMPLATE_TIMEOUT": "30s",
            "KUBECONFIG": str(self.kube.kubeconfig(home / "kubeconfig")), **self.plane.settings(),
            **({} if local else {"HAPROXY_STORAGE_DIR": str(self.plane.dir / "real")})})

    @contextlib.contextmanager
    def started(self) -> Iterator["TemplateStage"]:
        with self.haproxy, self.plane, self.kube:
            everything = [one for objects in self.objects.values() for one in objects]
            for at in range(0, len(everything), AT_ONCE):
                self.kube.put(*everything[at:at + AT_ONCE])
            with self.daemon:
                self.daemon.wait_log(APPLIED, self.wait_s)
                yield self

    @property
    def way(self) -> str:
        return "by its own file and sockets" if self.local else f"Data Plane API: {self.plane.kind} {self.plane.play}"

    def cpu_ms(self) -> float:
        """Of the daemon, of its helper, and of all that they have waited for: renders, haproxy -c."""
        spent = 0
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                pid, fields = int(stat.parent.name), stat.read_text().rpartition(")")[2].split()
                if self.daemon.pid in (pid, int(fields[1])):
                    spent += sum(map(int, fields[11:15]))
        return spent * 1000 / os.sysconf("SC_CLK_TCK")

    def lines(self, pattern: str, since: int = 0) -> list[str]:
        return [line for line in self.daemon.log()[since:].splitlines() if re.search(pattern, line)]

    def change(self, *objects: Object) -> str:
        """Until it is known to run; what was logged meanwhile. Then nothing is under way."""
        seen = len(self.daemon.log())
        self.kube.put(*objects)
        self.daemon.wait_log(APPLIED, 60, seen)
        time.sleep(REFRACTORY_S)  # the next is a change of its own
        return self.daemon.log()[seen:]

    def settled(self) -> None:
        """Nothing was rendered or applied for a while."""
        seen = -1
        while seen != len(self.daemon.log()):
            seen = len(self.daemon.log())
            time.sleep(5 * REFRACTORY_S)
