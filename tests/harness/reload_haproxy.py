"""A reload command for a Data Plane API.

`python3 reload_haproxy.py PIDFILE LOG` signals the master, where that has no `reload` on its socket (before 2.7);
`python3 reload_haproxy.py MASTERSOCKET` says it there. Each waits for the outcome, and exits 1 with HAProxy's words if
it failed.
"""

from __future__ import annotations

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from tests.doubles.dataplane.reloaders import ReloadFailed, SignalReloader, SocketReloader  # noqa: E402  (needs the path set above)


def main() -> int:
    try:
        (SocketReloader(sys.argv[1]) if len(sys.argv) == 2 else SignalReloader(*sys.argv[1:3])).reload()
    except ReloadFailed as e:
        print(e.output or e, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
