"""make soak: thousands of changes, relists and reconnects, and whether the daemon stays as it was. These variables change what it
does:

TIME           how long: 30m (the default), 90s, 8h, or a number of seconds. What is judged begins with the tenth minute
SEED           another stream of changes and troubles; printed, so that a run can be repeated
RATE           changes a second, 5 by default
RESYNC         RESYNC_PERIOD of the daemon
DATAPLANEAPI   a real Data Plane API; else the one on PATH, else the double
HAPROXY        an HAProxy; else the newest there is
HAPROXY_K8S_SYNC  our daemon, where it is not build/haproxy-k8s-sync
OUT            a folder for figures, plots and the table; else build/soak
KEEP=1         the folder with everybody's logs is left there

The rule by which it fails is in verdict.py.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import sys
import tempfile

from tests.harness.process import ROOT

from . import report
from .soak import Settings, run
from .stage import Stage

OUT = pathlib.Path(os.environ.get("OUT") or ROOT / "build" / "soak")
UNITS = {"s": 1, "m": 60, "h": 3600, "": 1}


def duration(said: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", said)
    if not found or float(found[1]) == 0:
        raise SystemExit(f"TIME={said}: not a time; expected is 30m, 90s, 8h, or a number of seconds")
    return float(found[1]) * UNITS[found[2]]


def settings() -> Settings:
    return Settings(seconds=duration(os.environ.get("TIME") or "30m"), seed=int(os.environ.get("SEED") or "1"),
                    rate=float(os.environ.get("RATE") or "5"))


def write(out: pathlib.Path, name: str, content: str) -> pathlib.Path:
    out.mkdir(parents=True, exist_ok=True)
    (out / name).write_text(content)
    return out / name


def main() -> int:
    wanted = settings()
    home = pathlib.Path(tempfile.mkdtemp(prefix="soak-"))
    keep = bool(os.environ.get("KEEP"))
    try:
        with Stage(home, os.environ.get("RESYNC") or "10s") as stage:
            print(f"soak for {wanted.seconds:g} s, SEED={wanted.seed}, {wanted.rate:g} changes/s; {stage.describe()}", flush=True)
            result = run(stage, wanted)
            shutil.copyfile(stage.daemon.log_path, write(OUT, "daemon.log", ""))
        table = report.text(result)
        write(OUT, "table.txt", table + "\n")
        write(OUT, "figures.json", report.as_json(result))
        print(f"{table}\n{report.page(result, OUT / 'soak.html')}", flush=True)
        keep = keep or bool(result.failures)
        return 1 if result.failures else 0
    except BaseException:
        keep = True
        raise
    finally:
        if keep:
            print(f"  everybody's logs: {home}", flush=True)
        else:
            shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
