"""Load balancers that take their configuration from etcd: how long a change takes until each has it, and what that costs etcd. COUNT of them (50),
each a daemon and a real HAProxy, beside one real etcd: all of them check and reload on the cores of this one machine, so the times are its, and what
counts for more is what one of them costs etcd."""

from __future__ import annotations

import contextlib
import datetime
import os
import pathlib
import re
import time

from tests.harness import http, realparts
from tests.harness.daemon import Daemon
from tests.harness.etcd import Etcd
from tests.harness.haproxy import PLAIN, HAProxy
from tests.harness.load_records import percentile
from tests.harness.process import wait_until

from . import report

COUNT = int(os.environ.get("COUNT", "50"))
CHANGES = 10
PATH = "/haproxy/east"
KIB = 1024



def configuration(number: int, bytes_: int) -> str:
    text = f"backend b{number}\n"
    return text + "# a line of a configuration that is larger\n" * ((bytes_ - len(text)) // 43)


class Counters:
    """What etcd says of itself."""

    def __init__(self, etcd: Etcd):
        text = http.request(etcd.url, "GET", "/metrics").text

        def total(name: str) -> float:
            return sum(float(value) for value in re.findall(rf"^{name}(?:{{.*?}})? ([\d.e+]+)$", text, re.M))
        self.cpu, self.sent = total("process_cpu_seconds_total"), total("etcd_network_client_grpc_sent_bytes_total")
        self.puts, self.ranges, self.txns = total("etcd_mvcc_put_total"), total("etcd_mvcc_range_total"), total("etcd_mvcc_txn_total")
        self.resident = total("process_resident_memory_bytes")
        self.leases = total("etcd_debugging_lease_renewed_total")


class Fleet:
    def __init__(self, home: pathlib.Path, etcd: Etcd, stack: contextlib.ExitStack):
        self.home, self.etcd, self.source = home, etcd, home / "source.cfg"
        self.daemons: list[Daemon] = []
        self.files: list[pathlib.Path] = []
        common = {"ETCD_ENDPOINTS": etcd.url, "ETCD_PATH": PATH, "CONFIG_MIN_INTERVAL": "0s", "RESYNC_PERIOD": "1h"}
        self.producer = stack.enter_context(Daemon(home / "producer", {**common, "CONFIG_TARGET": "etcd", "CONFIG_SOURCE": "file", "CONFIG_FILE": str(self.source)}))
        for i in range(COUNT):
            haproxy = HAProxy(home / f"lb-{i}", PLAIN)
            file = haproxy.dir / "dynamic.cfg"
            file.write_text("# nothing yet\n")
            haproxy.files.append(file)
            stack.enter_context(haproxy)
            self.files.append(file)
            self.daemons.append(stack.enter_context(Daemon(haproxy.dir, {
                **common, "CONFIG_SOURCE": "etcd", "ETCD_NAME": f"lb-{i}", "HAPROXY_CONFIG_FILE": str(file), "HAPROXY_CHECK_FILES": f"{haproxy.config},{file}",
                "HAPROXY_MASTER_SOCKET": str(haproxy.master_socket), "HAPROXY_STATS_SOCKET": str(haproxy.socket), "HAPROXY_BIN": haproxy.binary})))

    def change(self, number: int, bytes_: int) -> tuple[list[float], list[float]]:
        """Seconds from the write to the source until each load balancer has read it, and until HAProxy runs it there."""
        text = configuration(number, bytes_)
        seen = [len(daemon.log()) for daemon in self.daemons]
        half = self.source.with_suffix(".new")
        half.write_text(text)
        began = time.time()
        half.rename(self.source)

        def told(i: int, what: str) -> float:
            found = re.search(rf'time=(\S+)Z level=info msg="{what}"', self.daemons[i].log()[seen[i]:])
            return datetime.datetime.fromisoformat(found[1] + "+00:00").timestamp() - began if found else 0
        wait_until(lambda: all(told(i, "configuration applied") for i in range(COUNT)), 120, "each runs it", interval=0.5)
        return [told(i, "configuration changed") for i in range(COUNT)], [told(i, "configuration applied") for i in range(COUNT)]


def spread(values: list[float]) -> str:
    values.sort()
    return (f"p50 {(percentile(values, 50) or 0) * 1000:.0f} ms, p95 {(percentile(values, 95) or 0) * 1000:.0f}, the last {values[-1] * 1000:.0f} "
            f"(n={len(values)})")


def changes(fleet: Fleet, what: str, first: int, bytes_: int) -> None:
    fleet.change(first, bytes_)
    before, read, runs = Counters(fleet.etcd), [], []
    for number in range(first + 1, first + 1 + CHANGES):
        told, applied = fleet.change(number, bytes_)
        read += told
        runs += applied
    after, each = Counters(fleet.etcd), CHANGES * COUNT
    report.figure(f"{what}: until a load balancer has read it", spread(read))
    report.figure("  until its HAProxy runs it, verified", spread(runs))
    report.figure("  etcd, for one change and load balancer", f"{(after.cpu - before.cpu) / each * 1000:.2f} ms of CPU, {(after.sent - before.sent) / each / KIB:.1f} KiB sent, "
                  f"{(after.ranges - before.ranges) / each:.1f} reads, {(after.puts - before.puts) / each:.2f} writes")


def quiet(fleet: Fleet, seconds: int = 65) -> None:
    before, began = Counters(fleet.etcd), time.monotonic()
    wait_until(lambda: time.monotonic() - began > seconds, seconds + 5, "quiet time", interval=0.5)
    after = Counters(fleet.etcd)
    per = seconds * COUNT
    report.figure("nothing changes: etcd, for one load balancer", f"{(after.cpu - before.cpu) / per * 1000:.3f} ms of CPU a second, "
                  f"{(after.leases - before.leases) / per * 60:.1f} leases kept alive a minute, {(after.sent - before.sent) / per:.0f} bytes sent a second")


def measure(home: pathlib.Path) -> None:
    try:
        program = realparts.etcd()
    except realparts.Missing as e:
        report.heading(f"skipped: load balancers behind etcd: {e}")
        return
    report.heading(f"{COUNT} load balancers behind one etcd {realparts.ETCD}, on this machine's {os.cpu_count()} cores")
    with contextlib.ExitStack() as stack:
        etcd = stack.enter_context(Etcd(program, home))
        (home / "source.cfg").write_text(configuration(0, 4 * KIB))
        fleet = Fleet(home, etcd, stack)
        for daemon in fleet.daemons:
            daemon.wait_up(60)
        changes(fleet, "4 KiB", 100, 4 * KIB)
        changes(fleet, "400 KiB", 200, 400 * KIB)
        quiet(fleet)
        report.figure("memory of etcd", f"{Counters(etcd).resident / KIB / KIB:.0f} MiB")
        report.figure("memory of a load balancer's daemon", f"{fleet.daemons[0].memory_kib()['RssAnon'] / KIB:.1f} MiB anonymous")
