"""python3 -m tests.demo [--configuration | --ingress | --services] [--keep]"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import signal
import sys
import time
from collections.abc import Iterator

from tests.harness.haproxy import AUTH, BASE

from .balancer import ADDRESSES, Balancer, Unprepared, check_machine
from .configuration import ConfigurationStory, FileBalancer
from .ingress import IngressBalancer
from .ingress_story import HOST, IngressStory
from .manifests import SERVICE_FILE, SLICE_FILE
from .screen import LogTail, Screen
from .services import ServicesBalancer
from .services_story import HOST as SERVICE_HOST
from .services_story import ServicesStory
from .stage import Stage
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
    screen.heading("5. node-4 is new to HAProxy: " + ("its line is written, and HAProxy gets it without a reload" if story.stage.is_local
                                                      else "a transaction, and the only other reload"))
    story.node_joins("node-4")
    story.show_distribution()
    screen.heading("6. A heartbeat of node-1, as every node posts one every few minutes")
    story.heartbeat("node-1")


def show_places(stage: Balancer, screen: Screen, more: list[list[str]], host: str = "") -> None:
    screen.heading("Still running, until Ctrl-C")
    screen.table(["what", "where"], [
        ["HAProxy's front", f"curl {host}http://127.0.0.1:{stage.haproxy.port}/"],
        ["daemon: ready?", f"curl http://127.0.0.1:{stage.daemon.port}/readyz"],
        ["daemon: status page", f"http://127.0.0.1:{stage.daemon.port}/"],
        ["daemon: metrics", f"curl http://127.0.0.1:{stage.daemon.port}/metrics"],
        ["daemon: log", str(stage.daemon.log_path)],
        ["HAProxy's socket", f"echo 'show servers state' | socat stdio {stage.haproxy.socket}" if shutil.which("socat") else str(stage.haproxy.socket)]
        if stage.is_local else
        ["Data Plane API", f"curl -u {AUTH} {stage.dataplane.url}{BASE}/configuration/raw"],
        ["haproxy.cfg", str(stage.haproxy.config)], *more], numbers=False)
    screen.say("")


def show_servers_places(stage: Stage, screen: Screen) -> None:
    directory = stage.manifests.directory
    show_places(stage, screen, [["Kubernetes API", f"curl {stage.kube.url}/api/v1/nodes"],
                                ["its control port", f"curl {stage.kube.control_url}/requests"], ["manifests", str(directory)]])
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


def keep_running(traffic: Traffic, screen: Screen) -> None:
    """Says whenever other nodes answer than before, and when requests fail."""
    screen.line()
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


@contextlib.contextmanager
def shown(stage: Balancer, screen: Screen) -> Iterator[None]:
    """The daemon's log, after what is there."""
    with LogTail(screen, "daemon", stage.daemon.log_path):
        for name, what in stage.parts():
            screen.say(f"{name + ':':<16} {what}")
        yield


def keep_until_interrupted(stage: Balancer, traffic: Traffic, screen: Screen) -> None:
    with contextlib.suppress(KeyboardInterrupt):
        keep_running(traffic, screen)
    screen.line()
    screen.say("stopping what was started, and removing " + str(stage.home))


def run(keep: bool, screen: Screen) -> bool:
    with Stage() as stage, shown(stage, screen):
        story = Story(stage, screen)
        with story.traffic:
            play(story, screen)
            done = story.summary()
            if keep:
                for spare in ("node-5", "node-6"):
                    stage.add_backend(spare)
                show_servers_places(stage, screen)
                keep_until_interrupted(stage, story.traffic, screen)
        return done


def played(keep: bool, story: ConfigurationStory | IngressStory | ServicesStory, places: list[list[str]], host: str = "") -> bool:
    story.play()
    done = story.summary()
    if keep:
        show_places(story.stage, story.screen, places, host)
        story.show_places()
        keep_until_interrupted(story.stage, story.all_traffic[0], story.screen)
    return done


def run_configuration(keep: bool, screen: Screen) -> bool:
    with FileBalancer() as stage, shown(stage, screen), ConfigurationStory(stage, screen) as story:
        return played(keep, story, [["the file", str(stage.source)]])


def run_ingress(keep: bool, screen: Screen) -> bool:
    with IngressBalancer() as stage, shown(stage, screen), IngressStory(stage, screen) as story:
        return played(keep, story, [["an Ingress", f"curl -H 'Host: {HOST}' http://127.0.0.1:{stage.haproxy.port}/"],
                                    ["Kubernetes API", f"curl {stage.kube.url}/apis/networking.k8s.io/v1/ingresses"],
                                    ["manifests", str(stage.manifests)], ["template set", str(stage.set)]])


def run_services(keep: bool, screen: Screen) -> bool:
    with ServicesBalancer() as stage, shown(stage, screen), ServicesStory(stage, screen) as story:
        host = f"-H 'Host: {SERVICE_HOST}' "
        return played(keep, story, [["the other HAProxy's front", f"curl {host}http://127.0.0.1:{stage.other.port}/"], ["its daemon: status page", f"http://127.0.0.1:{stage.other.daemon.port}/"],
                                    ["Kubernetes API", f"curl {stage.kube.url}/api/v1/services"], ["manifests", str(stage.manifests.directory)]], host)


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.demo", description=sys.modules[__package__].__doc__)
    parser.add_argument("--keep", action="store_true", help="leave everything running until Ctrl-C")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--configuration", action="store_true", help="a whole haproxy.cfg from a file instead of a Service's nodes")
    which.add_argument("--ingress", action="store_true", help="a haproxy.cfg of Ingresses, by the template set ingress")
    which.add_argument("--services", action="store_true", help="annotated Services, on two load balancers")
    asked = parser.parse_args()
    screen = Screen()
    for signum in (signal.SIGINT, signal.SIGTERM):  # SIGINT, too: a shell script's background job starts with it ignored
        signal.signal(signum, signal.default_int_handler)
    try:
        check_machine()
        chosen = run_configuration if asked.configuration else run_ingress if asked.ingress else run_services if asked.services else run
        return 0 if chosen(asked.keep, screen) else 1
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
