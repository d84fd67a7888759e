"""The image of `make image`: what it is, what is in it, and the daemon at work in it."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator

import pytest

from tests.functional.rig import Rig
from tests.functional.wrapped import root_only
from tests.harness.certificates import Authority
from tests.harness.daemon import Daemon, clean_env, program
from tests.harness.dns import NameServer
from tests.harness.process import ROOT, wait_until

from .container import Archive, Container
from . import image
from .image import EPOCH, REVISION
from .once import run, version

# Debian pads each segment of each library to 64 KiB on arm64: the same files are half a megabyte larger there.
LIMIT = {"amd64": 27_000_000, "arm64": 27 * 1024 * 1024}

# In the image, though the daemon never opens it.
UNOPENED = {
    r"/etc/(passwd|group)": "container engines and people look up the user",
    r"/etc/(os-release|debian_version)": "scanners tell by it whose packages these are",
    r"/var/lib/dpkg/status\.d/[^/]+": "scanners and the bill of materials read the packages' versions there",
    r"/usr/share/doc/[^/]+/copyright\.gz": "licences that ask to be handed on",
    r"/usr/share/haproxy-k8s-sync/templates/.*": "a template set to begin with, which is named in TEMPLATE_FROM",
    r"/usr/share/common-licenses/[^/]+": "the texts that these refer to",
}
# Asked for, and not needed where it is not there.
OPTIONAL = {
    r"/etc/ld\.so\.(cache|preload)": "the loader looks into its own folders without them",
    r"/(usr/)?lib(64)?/([\w-]+/)?(glibc-hwcaps|tls|haswell|xeon_phi|avx512_1|x86_64|aarch64|atomics)(/[\w-]+)*": "folders for variants of libraries; there are none",
    r"/etc/gnutls/.*": "GnuTLS is there because libcurl's protocols beside HTTP want it; it goes by its defaults",
    r"/usr/lib/ssl/openssl\.cnf": "OpenSSL goes by its defaults, which are Debian's",
    r"/etc/ssl/certs/[0-9a-f]{8}\.\d+": "OpenSSL's other way to CA certificates: one file each, by hash",
    r"/etc/(gai|host)\.conf": "glibc's defaults hold",
    r"/etc/localtime": "the log's times are UTC",
    r"/proc/.*": "the kernel's, not the image's",
    r"/sys/.*": "the kernel's, not the image's",
}


needs_buildah = pytest.mark.skipif(shutil.which("buildah") is None, reason="no buildah here (Debian's package buildah)")
pytestmark = [needs_buildah, root_only]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return image.image(tmp_path_factory)


@pytest.fixture
def archive(built: pathlib.Path) -> Archive:
    return Archive(built)


def files(root: pathlib.Path) -> Iterator[pathlib.Path]:
    for folder, folders, names in os.walk(root):
        yield from (pathlib.Path(folder) / name for name in [*folders, *names])


# --- what it is


def test_configuration(archive: Archive) -> None:
    config = archive.config["config"]
    assert config["User"] == "65532:65532"
    assert config["Entrypoint"] == ["/usr/bin/haproxy-k8s-sync"] and not config.get("Cmd")
    assert archive.environment["SECCOMP"] == "true"
    assert list(config["ExposedPorts"]) == ["8080/tcp"]
    machine = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True).stdout.strip()
    assert (archive.config["os"], archive.config["architecture"]) == ("linux", machine)
    labels = {name.removeprefix("org.opencontainers.image."): text for name, text in config["Labels"].items()}
    assert labels["version"] == version() and labels["licenses"] == "Apache-2.0" and labels["title"] == "haproxy-k8s-sync"
    assert labels["revision"] == REVISION
    assert labels["created"] == "2023-11-14T22:13:20Z" == archive.config["created"].replace(".000000000", "")


def test_dockerfile_says_the_same(archive: Archive) -> None:
    """There is no engine here to build it: that it makes the same image is known by its instructions."""
    text = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text())
    last = text[text.rindex("\nFROM "):]
    config = archive.config["config"]
    assert last.startswith("\nFROM scratch\nCOPY --from=build /rootfs/ /\n")
    said = {word: rest for word, rest in re.findall(r"^([A-Z]+) (.*)$", last, re.M)}
    assert said["USER"] == config["User"] and said["EXPOSE"] in config["ExposedPorts"]
    assert said["ENTRYPOINT"] == '["/usr/bin/haproxy-k8s-sync"]' and said["WORKDIR"] == config.get("WorkingDir", "/")
    assert dict([said["ENV"].split("=")]).items() <= archive.environment.items()
    labels = dict(re.findall(r'(org\.opencontainers\.image\.\w+)="([^"]*)"', said["LABEL"]))
    assert labels.keys() | {"org.opencontainers.image.created"} >= config["Labels"].keys()
    for name, value in labels.items():
        assert "${" in value or config["Labels"][name] == value
    assert re.findall(r"^ARG VERSION=(.*)$", last, re.M) == [version()]


def test_same_input_same_bytes(built: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """In another folder, a little later, by a user with another umask and another language."""
    before = os.umask(0o077)
    try:
        image.build_rootfs(tmp_path)
        other = image.archive(tmp_path / "rootfs", tmp_path / "other.oci.tar")
    finally:
        os.umask(before)
    assert Archive(built).manifest == Archive(other).manifest
    assert built.read_bytes() == other.read_bytes()


def test_images_of_two_architectures_under_one_name(built: pathlib.Path, tmp_path: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """As the release workflow sends them to a registry; the other architecture is played by this one's files."""
    root = tmp_path / "root"
    shutil.copytree(image.rootfs(tmp_path_factory), root, symlinks=True)
    listed = root / "var/lib/dpkg/status.d/libc6"
    listed.write_text(re.sub(r"(?m)^Architecture: .*$", "Architecture: arm64", listed.read_text()))
    other = image.archive(root, tmp_path / "arm64.oci.tar")
    said = run("scripts/image-index", tmp_path / "index", "v1", built, other).strip()
    index = json.loads((tmp_path / "index/blobs/sha256" / said.removeprefix("sha256:")).read_text())
    inside = {entry["digest"]: entry["platform"] for entry in index["manifests"]}
    # Not made anew on the way: what is signed is what was built.
    assert inside == {Archive(path).digest: {"os": "linux", "architecture": Archive(path).config["architecture"]} for path in (built, other)}
    assert Archive(other).config["architecture"] == "arm64"
    for folder, archives, why in (("index", (built, other), "there already"), ("twice", (built, built), "one image for each"),
                                  ("none", (built, ROOT / "Makefile"), "no archive")):
        done = subprocess.run([ROOT / "scripts/image-index", tmp_path / folder, "v1", *archives], capture_output=True, text=True, check=False)
        assert done.returncode == 1 and why in done.stderr, done.stderr


# --- what is in it


def test_size(archive: Archive, tmp_path: pathlib.Path) -> None:
    root = archive.unpack(tmp_path)
    size = sum(path.lstat().st_size for path in files(root) if path.is_file() and not path.is_symlink())
    assert size <= LIMIT[archive.config["architecture"]], f"{size / 1e6:.2f} MB"


def test_owners_and_modes(archive: Archive) -> None:
    for layer in archive.layers():
        for member in layer.getmembers():
            assert (member.uid, member.gid, member.mtime) == (0, 0, int(EPOCH)), member.name
            assert member.isfile() or member.isdir() or member.issym(), f"{member.name} is neither file, folder nor symbolic link"
            assert member.issym() or not member.mode & (stat.S_ISUID | stat.S_ISGID | stat.S_IWGRP | stat.S_IWOTH), member.name


def test_times_of_the_root_itself(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The Dockerfile takes the files as they lie, without the archive's own normalising."""
    assert {int(path.lstat().st_mtime) for path in files(image.rootfs(tmp_path_factory))} == {int(EPOCH)}


def test_daemon_is_stripped(archive: Archive, tmp_path: pathlib.Path) -> None:
    sections = run("readelf", "-SW", archive.unpack(tmp_path) / "usr/bin/haproxy-k8s-sync")
    assert ".text" in sections and not re.search(r"\.(symtab|debug_info|comment)\b", sections)


def test_no_shell_and_nothing_else_to_run(archive: Archive, tmp_path: pathlib.Path) -> None:
    root = archive.unpack(tmp_path)
    runnable = {str(path.relative_to(root)) for path in files(root)
                if path.is_file() and not path.is_symlink() and os.access(path, os.X_OK) and "/lib/" not in str(path)}
    assert runnable == {"usr/bin/haproxy-k8s-sync"}


def test_certificates_are_mozillas_alone(archive: Archive, tmp_path: pathlib.Path) -> None:
    """This machine's own bundle may hold a company's."""
    bundle = (archive.unpack(tmp_path) / "etc/ssl/certs/ca-certificates.crt").read_text()
    packed = {path.read_text().strip() for path in pathlib.Path("/usr/share/ca-certificates/mozilla").glob("*.crt")}
    inside = {block.strip() for block in re.findall(r"-----BEGIN[^-]+-----.*?-----END[^-]+-----\n", bundle, re.S)}
    assert inside == packed and len(inside) > 100


def test_every_library_has_its_package_and_licence(archive: Archive, tmp_path: pathlib.Path) -> None:
    root = archive.unpack(tmp_path)
    packages = {path.name for path in (root / "var/lib/dpkg/status.d").iterdir()}
    assert {"libc6", "ca-certificates", "uthash-dev"} <= packages
    assert {path.name for path in (root / "usr/share/doc").iterdir()} == packages | {"haproxy-k8s-sync"}
    for name in packages:
        said = (root / "var/lib/dpkg/status.d" / name).read_text()
        assert re.search(rf"^Package: {re.escape(name)}$", said, re.M) and re.search(r"^Version: \S+$", said, re.M)


# --- the daemon in it


def test_version_and_check_config(archive: Archive, tmp_path: pathlib.Path) -> None:
    inside = Container(tmp_path / "c", archive)
    done = subprocess.run([inside.frame("--version")], env=clean_env(**archive.environment), capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout) == (0, run(program(), "--version")), done.stderr
    assert re.fullmatch(rf"haproxy-k8s-sync {re.escape(version())}(, commit [0-9a-f]{{12}})?\n", done.stdout), "what test_dist.py has to the letter"
    env = clean_env(**archive.environment, INGRESS_NAMESPACE="a", INGRESS_SERVICE_NAME="b", HAPROXY_DATAPLANE_URL="http://127.0.0.1:1",
                    HAPROXY_DATAPLANE_USERNAME="u", HAPROXY_DATAPLANE_PASSWORD="p")
    done = subprocess.run([inside.frame("check-config")], env=env, capture_output=True, text=True, timeout=30)
    assert done.returncode == 78 and "no access to the Kubernetes API" in done.stderr, "all else is fine; there is no service account"


class Stage:
    """Kubernetes and two HAProxies' APIs, all by TLS and by name; the daemon finds Kubernetes as in a pod."""

    def __init__(self, home: pathlib.Path, archive: Archive, dns: NameServer):
        self.ca = Authority(home / "ca")
        own = self.ca.server(alternatives="IP:127.0.0.1,DNS:localhost,DNS:dataplane.test")
        self.rig = Rig(home, haproxies=2, tls=(own.certificate, own.key), ca=self.ca.certificate, token="t")
        for pair in self.rig.pairs:
            pair.dataplane.serve_tls(own)
        self.container = Container(home / "container", archive, dns.address, "127.0.0.1 haproxy.test\n")
        (self.container.token / "token").write_text("t")
        (self.container.token / "namespace").write_text("ingress")
        shutil.copy(self.ca.certificate, self.container.token / "ca.crt")
        shutil.copy(self.ca.certificate, self.container.settings / "ca.crt")
        (self.container.settings / "password").write_text("adminpwd\n")

    def start(self, over: dict[str, pathlib.Path] | None = None, **settings: str) -> Daemon:
        rig = self.rig
        urls = [f"https://{host}:{pair.dataplane.port}" for host, pair in zip(("localhost", "dataplane.test"), rig.pairs)]
        more = {"KUBECONFIG": "", "KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(rig.kube.port),
                "HAPROXY_DATAPLANE_URL": ",".join(urls), "HAPROXY_DATAPLANE_PASSWORD": "",
                "HAPROXY_DATAPLANE_PASSWORD_FILE": "/settings/password"}
        env = rig.settings(**{**self.container.archive.environment, **more, **settings})
        rig.daemon = Daemon(rig.home / "daemon", env, self.container.frame(over=over)).start()
        return rig.daemon


@pytest.fixture
def stage(tmp_path: pathlib.Path, archive: Archive) -> Iterator[Stage]:
    with NameServer() as dns:
        made = Stage(tmp_path, archive, dns)
        with made.rig:
            yield made
        assert "dataplane.test" in dns.asked


def unexplained(paths: set[str], known: dict[str, str]) -> list[str]:
    return sorted(path for path in paths if not any(re.fullmatch(pattern, path) for pattern in known))


def test_the_daemon_works_in_it_and_every_file_of_it_is_needed(stage: Stage) -> None:
    """As an engine would run it: other root, read-only, uid 65532, names by DNS and /etc/hosts, TLS by a CA file, then by the
    image's own bundle. Meanwhile each path that it asks for is written down."""
    rig, container = stage.rig, stage.container
    daemon = stage.start(HAPROXY_DATAPLANE_CA_FILE="/settings/ca.crt")
    rig.pods(1, 2, 3)
    rig.wait_servers_everywhere(1, 2, 3)
    status = pathlib.Path(f"/proc/{daemon.pid}/status").read_text()
    for line in (r"Uid:\s+65532\s+65532\s+65532\s+65532", r"Gid:\s+65532\s+65532\s+65532\s+65532", r"Groups:\s*", r"CapEff:\s+0+",
                 r"CapPrm:\s+0+", r"Seccomp:\s+2"):
        assert re.search(rf"^{line}$", status, re.M), f"{line} is not in:\n{status}"
    daemon.stop()

    # A company's CA is added to the bundle as users do it: by a mount.
    bundle = container.home / "bundle.crt"
    bundle.write_text((container.root / "etc/ssl/certs/ca-certificates.crt").read_text() + stage.ca.certificate.read_text())
    stage.start(over={"etc/ssl/certs/ca-certificates.crt": bundle})
    rig.pods(1)
    for pair in rig.pairs:
        pair.wait_parked(2, 3)
    rig.daemon.stop()

    wait_until(lambda: all("+++ exited with 0 +++" in trace.read_text() for trace in container.traces), 20, "the end of the traces")
    found, missing = container.asked()
    # A library that is missing in one folder and was found in another is not missing.
    names = {os.path.basename(path) for path in found}
    absent = {path for path in missing if not (".so" in path and os.path.basename(path) in names)}
    assert not unexplained(absent, OPTIONAL), "asked for, and not in the image"

    in_image = {f"/{member.name.removeprefix('./')}" for layer in container.archive.layers() for member in layer.getmembers()
                if not member.isdir()}
    assert not unexplained(in_image - container.files_behind(found), UNOPENED), "in the image, and never opened"
    # The lists themselves are kept short: what stands on them occurs.
    assert all(any(re.fullmatch(pattern, path) for path in in_image) for pattern in UNOPENED)


def test_without_the_right_ca_nothing_is_written(stage: Stage) -> None:
    """The counterpart: with the image's own bundle alone this API is nobody's."""
    before = [pair.dataplane.file() for pair in stage.rig.pairs]
    daemon = stage.start()
    stage.rig.pods(1, 2)
    daemon.wait_log("certificate")
    wait_until(lambda: daemon.log().count("certificate") >= 2, 20, "a refusal of both")
    assert [pair.dataplane.file() for pair in stage.rig.pairs] == before
