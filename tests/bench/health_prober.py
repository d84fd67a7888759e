"""Asks /healthz every 20 ms over one connection, in a process of its own: how long the daemon's loop keeps it waiting. A line on standard
input is answered with the longest answer so far in ms and how many there were, and begins anew; its end is the end."""

from __future__ import annotations

import http.client
import os
import select
import sys
import time

EVERY_S, PATIENCE_S = 0.02, 30.0


def run(port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    longest, count, due = 0.0, 0, time.monotonic()
    print("asking", flush=True)
    while True:
        if select.select([0], [], [], max(0.0, due - time.monotonic()))[0]:
            if not os.read(0, 1000):
                return
            print(f"{longest * 1000:.3f} {count}", flush=True)
            longest, count = 0.0, 0
            continue
        began = time.monotonic()
        try:
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            longest, count = max(longest, time.monotonic() - began), count + 1
        except TimeoutError:
            longest, count = PATIENCE_S, count + 1
            connection.close()
        except (OSError, http.client.HTTPException):  # it does not listen yet, or no longer
            connection.close()
        due = max(began + EVERY_S, time.monotonic())


if __name__ == "__main__":
    run(int(sys.argv[1]))
