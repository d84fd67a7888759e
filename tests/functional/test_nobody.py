"""As the container runs it: uid 65532, no capability, a root without a path that can be written, secrets readable by its group alone."""

from __future__ import annotations

import os
import pathlib
import re
import signal
from collections.abc import Iterator

import pytest

from tests.harness.certificates import Authority
from tests.harness.daemon import Daemon
from tests.harness.process import wait_until

from .rig import Rig
from .wrapped import root_only, start_in

USER = 65532
ACCOUNT = "var/run/secrets/kubernetes.io/serviceaccount"
NOBODY = f"setpriv --reuid {USER} --regid {USER} --clear-groups --bounding-set=-all --inh-caps=-all --ambient-caps=-all --no-new-privs"


def secret(path: pathlib.Path, text: str) -> None:
    """As kubelet does with defaultMode 0440 and fsGroup: replaced at once, and readable by the group alone."""
    path.parent.mkdir(exist_ok=True)
    beside = path.with_name(f".{path.name}")
    beside.write_text(text)
    os.chown(beside, 0, USER)
    beside.chmod(0o440)
    os.replace(beside, path)


def frame(rig: Rig) -> str:
    """A root of its own: the system's programs and libraries, the daemon, the secrets; everything read-only. A user who could write
    somewhere in it ends the start."""
    root = rig.home / "root"
    root.mkdir()
    inner = f"""
set -e
mount -t tmpfs -o mode=755 tmpfs {root}
cd {root}
mkdir -p usr etc proc dev tmp credentials {ACCOUNT}
chmod 1777 tmp
ln -s usr/lib usr/lib64 usr/bin usr/sbin .
touch daemon dev/null
mount --bind $D daemon
mount --bind /dev/null dev/null
for d in usr etc; do mount --rbind /$d $d; done
mount -t proc proc proc
mount --bind {rig.home}/credentials credentials
mount --bind {rig.home}/account {ACCOUNT}
grep -o ' {root}[^ ]*' /proc/self/mountinfo | sort -r | while read -r at; do mount -o remount,bind,ro $at; done
exec /usr/sbin/chroot . /usr/bin/{NOBODY} sh -c '
    for at in / /tmp /usr /etc /proc /dev /credentials /{ACCOUNT}; do
        if touch $at/x 2>&-; then echo "$at can be written"; exit 1; fi
    done
    exec /daemon'
"""
    script = rig.home / "root.sh"
    script.write_text(inner)
    return f"export D=$DAEMON; exec unshare -m bash {script}"


@pytest.fixture
def rig(tmp_path: pathlib.Path) -> Iterator[Rig]:
    ca = Authority(tmp_path / "ca")
    server = ca.server()
    with Rig(tmp_path, tls=(server.certificate, server.key), ca=ca.certificate, token="first") as made:
        secret(tmp_path / "account/token", "first")
        secret(tmp_path / "account/ca.crt", ca.certificate.read_text())
        secret(tmp_path / "account/namespace", "ingress")
        secret(tmp_path / "credentials/username", "admin\n")
        secret(tmp_path / "credentials/password", "adminpwd\n")
        yield made


def start(rig: Rig, **more: str) -> Daemon:
    return start_in(rig, frame(rig), KUBECONFIG="", KUBERNETES_SERVICE_HOST="127.0.0.1", KUBERNETES_SERVICE_PORT=str(rig.kube.port),
                    HAPROXY_DATAPLANE_USERNAME="", HAPROXY_DATAPLANE_USERNAME_FILE="/credentials/username", HAPROXY_DATAPLANE_PASSWORD="",
                    HAPROXY_DATAPLANE_PASSWORD_FILE="/credentials/password", RESYNC_PERIOD="1s", **more)


def status(daemon: Daemon) -> dict[str, str]:
    return dict(re.findall(r"^(\w+):[ \t]*(.*?)[ \t]*$", pathlib.Path(f"/proc/{daemon.pid}/status").read_text(), re.M))


@root_only
@pytest.mark.parametrize("seccomp", ["true", "false"])
def test_nobody_on_a_read_only_root(rig: Rig, seccomp: str) -> None:
    daemon = start(rig, SECCOMP=seccomp)
    rig.wait_in_sync()
    now = status(daemon)
    assert now["Uid"].split() == [str(USER)] * 4 and now["Gid"].split() == [str(USER)] * 4 and now["Groups"] == ""
    assert {now[name].strip("0") for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {""}, now
    assert pathlib.Path(f"/proc/{daemon.pid}/environ").stat().st_uid == 0, "others of the same user can read it"
    assert (now["NoNewPrivs"], now["Seccomp"]) == ("1", "2" if seccomp == "true" else "0")
    rig.pods(1, 2)
    rig.wait_servers(1, 2)
    rig.kube.tokens(second="admin")
    secret(rig.home / "account/token", "second")
    secret(rig.home / "credentials/password", "adminpwd")
    rig.kube.disconnect(how="reset")
    daemon.wait_log("Kubernetes token renewed")
    rig.pods(1, 2, 3)
    rig.wait_servers(1, 2, 3)
    rig.wait_in_sync()
    metrics = daemon.metrics()
    assert metrics.sum("process_open_fds") > 3 and metrics.sum("process_resident_memory_bytes") > 0, "its own /proc is closed to it"
    daemon.process.signal(signal.SIGHUP)
    rig.wait_in_sync()
    daemon.stop()


@root_only
def test_secret_that_it_may_not_read_is_said_at_start(rig: Rig) -> None:
    (rig.home / "credentials/password").chmod(0o400)
    daemon = start(rig)
    assert daemon.process.wait(20) == 78
    daemon.process = None
    wait_until(lambda: re.search("HAPROXY_DATAPLANE_PASSWORD_FILE.*Permission denied", daemon.log()), 5, "what is wrong")
