"""From the caches to the servers that one backend should have: mapping.c beside this file, built with the daemon's own code."""

from __future__ import annotations

import subprocess

from tests.harness.daemon import program

from . import report


def measure(nodes: int, endpoints: int, runs: int) -> None:
    report.heading(f"mapping {endpoints:,} endpoints over {nodes:,} nodes, {runs} times, one endpoint changed before each")
    path = program().parent / "bench" / "mapping"
    if not path.exists():
        report.note(f"skipped: {path} was not built")
        return
    done = subprocess.run([path, str(nodes), str(endpoints), str(runs)], capture_output=True, text=True, check=True, timeout=120)
    figures = dict(word.split("=") for word in done.stdout.split())
    report.figure("CPU for one", f"{figures['cpu_median_ms']} ms (best {figures['cpu_min_ms']})", "<= 1 ms")
    report.figure("by the clock", f"{figures['median_ms']} ms (best {figures['min_ms']}, first {figures['cold_ms']})", "<= 1 ms")
    report.figure("CPU for one where all is computed", f"{figures['all_cpu_median_ms']} ms (best {figures['all_cpu_min_ms']})", "<= 7 ms")
    report.figure("memory with the caches, anonymous", f"{int(figures['anon_kib']) / 1024:.1f} MB", "<= 16 MB")
    report.figure("peak RSS", f"{int(figures['peak_kib']) / 1024:.1f} MB", "<= 16 MB")
