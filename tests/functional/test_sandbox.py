"""SECCOMP=true: the whole life of the daemon under its filter, and not one call refused on the way."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator

import pytest

from tests.harness.certificates import Authority
from tests.harness.daemon import clean_env, quick_program
from tests.harness.dns import NameServer
from tests.harness.kube import write_kubeconfig
from tests.harness.process import free_port, wait_until

from . import test_local
from .rig import Rig
from .test_local import beside
from .wrapped import in_names, root_only, start_in

local = test_local.rig  # a fixture


@pytest.fixture
def two(tmp_path: pathlib.Path) -> Iterator[Rig]:
    """Two HAProxies, the first one's API on a unix socket, too; Kubernetes by TLS."""
    ca = Authority(tmp_path / "ca")
    server = ca.server(alternatives="DNS:kubernetes.test")
    made = Rig(tmp_path, haproxies=2, tls=(server.certificate, server.key), ca=ca.certificate, token="first")
    made.dataplane.more += ["--listen", f"unix:{tmp_path}/api.sock"]
    with made:
        yield made


def life(rig: Rig, script: str) -> None:
    """Names, TLS, a unix socket, watches that break, files that change, SIGHUP, all pages, a clean stop."""
    token, password = rig.home / "token", rig.home / "password"
    token.write_text("first")
    password.write_text("adminpwd\n")
    kubeconfig = write_kubeconfig(rig.home / "config", f"https://kubernetes.test:{rig.kube.port}", ca=rig.kube.ca, token_file=token)
    daemon = start_in(rig, script, SECCOMP="true", LEADER_ELECT="true", RESYNC_PERIOD="1s", KUBECONFIG=str(kubeconfig),
                      HAPROXY_DATAPLANE_URL=f"unix:{rig.home}/api.sock,http://dataplane.test:{rig.pairs[1].dataplane.port}",
                      HAPROXY_DATAPLANE_PASSWORD="", HAPROXY_DATAPLANE_PASSWORD_FILE=str(password))
    rig.wait_in_sync()
    daemon.wait_log("msg=started .*seccomp=true")
    assert re.search(r"^Seccomp:\s+2$", pathlib.Path(f"/proc/{daemon.pid}/status").read_text(), re.M)
    rig.pods(1, 2, 3)
    rig.wait_servers_everywhere(1, 2, 3)
    for path, status in (("/metrics", 200), ("/readyz", 200), ("/livez", 200), ("/nowhere", 404)):
        wait_until(lambda: daemon.get(path)[0] == status, 20, f"{path} {status}")
    rig.kube.tokens(second="admin")
    token.write_text("second")
    rig.kube.disconnect(how="reset")
    daemon.wait_log("Kubernetes token renewed")
    password.write_text("adminpwd")
    rig.pods(1)
    for pair in rig.pairs:
        pair.wait_parked(2, 3)
    daemon.process.signal(signal.SIGHUP)
    rig.wait_in_sync()
    rig.pairs[0].haproxy.process.signal(signal.SIGUSR2)
    rig.dataplane.restart()
    rig.pods(1, 2)
    rig.wait_servers_everywhere(1, 2, timeout=40)
    daemon.stop()


@root_only
def test_whole_life_under_the_filter(two: Rig) -> None:
    with NameServer() as dns:
        life(two, in_names(two.home, dns.address, ""))
        assert {"kubernetes.test", "dataplane.test"} <= set(dns.asked)


traced = pytest.mark.skipif(shutil.which("strace") is None, reason="no strace here: whether a call was refused cannot be seen")


def trace_of_filtered(trace: pathlib.Path, filters: int, more: bool = False) -> str:
    """What follows the first filter: nothing in it was refused, but clone3, so that glibc takes clone, whose flags the filter can read, and
    at the end the daemon's wait4 for helpers that are gone: their sockets have said so."""
    text = str(wait_until(lambda: "+++ exited with 0 +++" in (t := trace.read_text()) and t, 20, "the end of the trace"))
    installed = list(re.finditer(r"^(\d+) +seccomp\(SECCOMP_SET_MODE_FILTER, .*len=.*$", text, re.M))
    count = len({found[1] for found in installed})
    assert count > filters if more else count == filters, f"filters were seen to be installed in {[found[1] for found in installed]}"
    after = text[installed[0].end():]
    refused = [line for line in after.splitlines() if re.search(r" = -1 (EPERM|ENOSYS) |--- SIGSYS|by SIGSYS", line) and not re.search(r" (<\.\.\. )?(clone3|wait4)\b", line)]
    assert not refused, "\n".join(refused)
    return after


@root_only
@traced
def test_no_call_is_refused_on_the_way(two: Rig) -> None:
    """Refusals that a library works around would not show otherwise."""
    trace = two.home / "trace"
    with NameServer() as dns:
        life(two, in_names(two.home, dns.address, f"strace -f -D -q -o {trace}"))
    after = trace_of_filtered(trace, 1)
    assert "CLONE_THREAD" in after and "sendmmsg(" in after, "names were to be resolved in a thread"


@root_only
@traced
def test_no_call_is_refused_beside_haproxy(local: Rig) -> None:
    """Neither the daemon's own nor one of the helpers', which have a filter each."""
    trace = local.home / "trace"
    local.dataplane.kill()
    daemon = start_in(local, f"exec strace -f -D -q -o {trace} $DAEMON", **beside(local, SECCOMP="true", HAPROXY_BALANCE="source"))
    local.pods(1, 2)
    wait_until(lambda: "n2" in local.haproxy.servers("be"), 20, "n2 runs")
    daemon.wait_log("HAProxy reloaded")
    local.pods(1, 2, 3, 4)
    wait_until(lambda: {"n3", "n4"} <= set(local.haproxy.servers("be")), 20, "n3 and n4 run")
    local.pods(1)
    wait_until(lambda: local.haproxy.states("be").get("n4") != "ready", 20, "n4 is out")
    daemon.wait_ready()
    daemon.stop()
    assert "execve(" in trace_of_filtered(trace, 3), "haproxy -c was to be run"


def test_process_is_closed_to_others_with_and_without_the_filter(rig: Rig) -> None:
    """What it reports of itself is reported all the same. (test_nobody.py sees that /proc/PID is root's.)"""
    rig.start()
    rig.wait_in_sync()
    proc = pathlib.Path(f"/proc/{rig.daemon.pid}")
    limits = (proc / "limits").read_text()
    assert re.search(r"^Max core file size +0 +0 ", limits, re.M), limits
    assert re.search(r"^NoNewPrivs:\s+1$", (proc / "status").read_text(), re.M)
    assert rig.daemon.metrics().sum("process_open_fds") > 3


def settings(kubeconfig: pathlib.Path) -> dict[str, str]:
    return clean_env(KUBECONFIG=str(kubeconfig), SECCOMP="true", INGRESS_NAMESPACE="a", INGRESS_SERVICE_NAME="b",
                     LISTEN_ADDRESS=f"127.0.0.1:{free_port()}", HAPROXY_DATAPLANE_URL="http://127.0.0.1:1",
                     HAPROXY_DATAPLANE_USERNAME="u", HAPROXY_DATAPLANE_PASSWORD="p")


@pytest.mark.parametrize("command", [[], ["check-config"]], ids=["daemon", "check-config"])
def test_plugin_and_filter_do_not_go_together(tmp_path: pathlib.Path, command: list[str]) -> None:
    config = {"apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
              "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
              "users": [{"name": "u", "user": {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "get-token", "interactiveMode": "Never"}}}]}
    (tmp_path / "kubeconfig").write_text(json.dumps(config))
    done = subprocess.run([quick_program(), *command], env=settings(tmp_path / "kubeconfig"), capture_output=True, text=True, timeout=20)
    assert done.returncode == 78
    assert "get-token" in done.stderr and "SECCOMP=false" in done.stderr


def test_kernel_that_takes_no_filter(tmp_path: pathlib.Path) -> None:
    """Played by a filter that refuses seccomp(2), as a container's own profile may."""
    program = ("import ctypes, os, sys; s = ctypes.CDLL('libseccomp.so.2'); s.seccomp_init.restype = ctypes.c_void_p; "
               "c = ctypes.c_void_p(s.seccomp_init(0x7fff0000)); n = s.seccomp_syscall_resolve_name(b'seccomp'); "
               "assert s.seccomp_rule_add(c, 0x00050000 | 1, n, 0) == 0 and s.seccomp_load(c) == 0; os.execve(sys.argv[1], [sys.argv[1]], os.environ)")
    env = settings(write_kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:1", token="t"))
    done = subprocess.run(["/usr/bin/python3", "-c", program, os.fspath(quick_program())], env=env, capture_output=True, text=True, timeout=20)
    assert done.returncode == 78, done.stderr
    assert "CONFIG_SECCOMP_FILTER" in done.stderr and "SECCOMP=false" in done.stderr and "msg=started" not in done.stderr
