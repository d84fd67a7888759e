"""python3 -m tests.demo [--keep]"""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import time

from tests.harness.haproxy import AUTH, BASE

from .manifests import SERVICE_FILE, SLICE_FILE
from .screen import LogTail, Screen
from .stage import ADDRESSES, Stage, Unprepared, check_machine
from .story import Story
from .traffic import Traffic, counts


def play(story: Story, screen: Screen) -> None:
    screen.heading("1. First sync: three nodes; until then HAProxy has its backup server alone")
    story.first_sync()
    story.show_distribution()
    screen.heading("2. node-3 drains: its pod is terminating, so it gets no new connections and keeps the open ones")
    story.node_drains("node-3")
    story.show_distribution()
    screen.heading("3. The pod on node-3 is gone: its server is parked, in maintenance, so that it can come back without a reload")
    story.pod_is_gone("node-3")
    screen.heading("4. A pod moves from node-2 to node-3: HAProxy knows both, so nothing is reloaded")
    story.pod_moves("node-2", "node-3")
    story.show_distribution()
    screen.heading("5. node-4 is new to HAProxy: a transaction, and the only other reload")
    story.node_joins("node-4")
    story.show_distribution()
    screen.heading("6. A heartbeat of node-1, as every node posts one every few minutes")
    story.heartbeat("node-1")


def show_places(stage: Stage, screen: Screen) -> None:
    directory = stage.manifests.directory
    screen.heading("Still running, until Ctrl-C")
    screen.table(["what", "where"], [
        ["HAProxy's front", f"curl http://127.0.0.1:{stage.haproxy.port}/"],
        ["daemon: ready?", f"curl http://127.0.0.1:{stage.daemon.port}/readyz"],
        ["daemon: status page", f"http://127.0.0.1:{stage.daemon.port}/"],
        ["daemon: metrics", f"curl http://127.0.0.1:{stage.daemon.port}/metrics"],
        ["daemon: log", str(stage.daemon.log_path)],
        ["Data Plane API", f"curl -u {AUTH} {stage.dataplane.url}{BASE}/configuration/raw"],
        ["haproxy.cfg", str(stage.haproxy.config)],
        ["Kubernetes API", f"curl {stage.kube.url}/api/v1/nodes"],
        ["its control port", f"curl {stage.kube.control_url}/requests"],
        ["manifests", str(directory)]], numbers=False)
    screen.say("")
    ask = f"  env $(cat {stage.settings_file()}) {stage.daemon.binary}"
    screen.say("What would the daemon do now, and why? With its own environment:")
    screen.say(f"{ask} plan")
    screen.say(f"{ask} explain node-1")
    screen.say(f"{ask} doctor")
    screen.say("")
    screen.say("Edit a manifest and watch. A node leaves, for example, when its pod is no longer ready:")
    screen.say(f"  sed -i '/nodeName: node-3/,+2 s/ready: true/ready: false/' {directory / SLICE_FILE}")
    screen.say(f"node-5 ({ADDRESSES['node-5']}) and node-6 ({ADDRESSES['node-6']}) would answer, too: copy a node's file,")
    screen.say(f"give the copy that name and address, and add an endpoint with that nodeName to {SLICE_FILE}.")
    screen.say(f"Without the # before the annotation in {SERVICE_FILE}, the daemon only shows what would change; with it")
    screen.say("again, it writes that.")
    screen.line()


def keep_running(stage: Stage, traffic: Traffic, screen: Screen) -> None:
    """Says whenever other nodes answer than before, and when requests fail."""
    for spare in ("node-5", "node-6"):
        stage.add_backend(spare)
    show_places(stage, screen)
    before: set[str] = set()
    failed = traffic.failed
    while True:
        time.sleep(0.5)
        answering = set(counts(traffic.since(time.monotonic() - 0.5)))
        if answering != before:
            screen.say(f"traffic is answered by {', '.join(sorted(answering)) or 'no node'}")
            before = answering
        if traffic.failed != failed:
            screen.bad(f"{traffic.failed - failed} requests failed")
            failed = traffic.failed


def run(keep: bool, screen: Screen) -> bool:
    with Stage() as stage, LogTail(screen, "daemon", stage.daemon.log_path):
        for name, what in stage.parts():
            screen.say(f"{name + ':':<16} {what}")
        story = Story(stage, screen)
        with story.traffic:
            play(story, screen)
            done = story.summary()
            if keep:
                with contextlib.suppress(KeyboardInterrupt):
                    keep_running(stage, story.traffic, screen)
                screen.line()
                screen.say("stopping what was started, and removing " + str(stage.home))
        return done


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.demo", description=sys.modules[__package__].__doc__)
    parser.add_argument("--keep", action="store_true", help="leave everything running until Ctrl-C")
    keep = parser.parse_args().keep
    screen = Screen()
    for signum in (signal.SIGINT, signal.SIGTERM):  # SIGINT, too: a shell script's background job starts with it ignored
        signal.signal(signum, signal.default_int_handler)
    try:
        check_machine()
        return 0 if run(keep, screen) else 1
    except Unprepared as e:
        screen.bad(str(e))
    except KeyboardInterrupt:
        screen.line()
        screen.say("interrupted; what was started is stopped and removed.")
        return 130
    except (AssertionError, RuntimeError, OSError) as e:
        screen.bad(f"this did not happen: {e}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
