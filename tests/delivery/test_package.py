"""The Debian package and `make install`: what is in them, what they ask for, whether the same input gives the same bytes."""

from __future__ import annotations

import filecmp
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from tests.harness.daemon import check_env, clean_env, program
from tests.harness.process import ROOT, free_port

from . import package
from .once import run, version

UNIT = ROOT / "deploy/systemd/haproxy-k8s-sync.service"
LOCAL = ROOT / "deploy/systemd/local.conf"
SETTINGS = ROOT / "deploy/systemd/haproxy-k8s-sync.env"
# Of 10, by systemd's own count: what is left is that it talks over the network.
EXPOSURE = 1.5

# Name -> mode, without folders and documentation. Where units are is Debian's matter.
FILES = {
    "etc/haproxy-k8s-sync.env": "-rw-r-----",
    "usr/bin/haproxy-k8s-sync": "-rwxr-xr-x",
    "usr/sbin/haproxy-k8s-sync-as-service": "-rwxr-xr-x",
    "lib/systemd/system/haproxy-k8s-sync.service": "-rw-r--r--",
    "usr/share/haproxy-k8s-sync/local.conf": "-rw-r--r--",
    "usr/share/bash-completion/completions/haproxy-k8s-sync": "-rw-r--r--",
    "usr/share/bash-completion/completions/haproxy-k8s-sync-as-service": "lrwxrwxrwx",
    "usr/share/fish/vendor_completions.d/haproxy-k8s-sync.fish": "-rw-r--r--",
    "usr/share/fish/vendor_completions.d/haproxy-k8s-sync-as-service.fish": "lrwxrwxrwx",
    "usr/share/zsh/vendor-completions/_haproxy-k8s-sync": "-rw-r--r--",
    "usr/share/man/man8/haproxy-k8s-sync.8.gz": "-rw-r--r--",
    "usr/share/man/man8/haproxy-k8s-sync-as-service.8.gz": "lrwxrwxrwx",
    "usr/share/lintian/overrides/haproxy-k8s-sync": "-rw-r--r--",
    **{f"usr/share/haproxy-k8s-sync/{path.relative_to(ROOT)}": "-rw-r--r--"
       for path in (ROOT / "templates").rglob("*") if path.is_file()},
}
EXAMPLES = ("config.example.env", "rbac.yaml", "token.yaml")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return package.folder(tmp_path_factory)


# --- the package

@package.needs_debhelper
def test_what_is_in_it(home: pathlib.Path) -> None:
    rows = [line.split(None, 5) for line in run("dpkg-deb", "-c", package.find(home)).splitlines()]
    assert {row[1] for row in rows} == {"root/root"}
    modes = {re.sub(r" -> .*", "", row[5]).removeprefix("./"): row[0] for row in rows}
    assert modes["etc/haproxy-k8s-sync/"] == "drwx------", "credentials are put in there"
    found = {re.sub(r"^usr/lib/systemd", "lib/systemd", name): mode for name, mode in modes.items()
             if not mode.startswith("d") and not name.startswith("usr/share/doc/")}
    assert found == FILES
    documents = {name.removeprefix("usr/share/doc/haproxy-k8s-sync/").removesuffix(".gz") for name in modes if name.startswith("usr/share/doc/")}
    assert documents >= {"README.md", "copyright", "changelog", "changelog.Debian", *(f"examples/{name}" for name in EXAMPLES)}


@package.needs_debhelper
def test_what_it_asks_for(home: pathlib.Path) -> None:
    def field(name: str, deb: str = "haproxy-k8s-sync") -> str:
        return run("dpkg-deb", "-f", package.find(home, deb), name).strip()

    needed = set(re.findall(r"NEEDED.*\[(?!libc\.|ld-linux)(lib[\w.+-]+)\]", run("readelf", "-d", program())))
    # A package may still call a folder of /usr by its name from before both were one: any path of that end.
    owners = {run("dpkg-query", "-S", "*" + os.path.realpath(run("gcc", f"-print-file-name={name}").strip()).removeprefix("/usr")).split(":")[0]
              for name in needed}
    assert {re.sub(r" .*", "", part.strip()) for part in field("Depends").split(",")} == owners | {"libc6"}
    assert field("Version") == version() and field("Architecture") == run("dpkg", "--print-architecture").strip()
    assert run("dpkg-deb", "--ctrl-tarfile", package.find(home))
    assert field("Version", "haproxy-k8s-sync-dbgsym") == version(), "debug symbols have a package of their own"


@package.needs_debhelper
def test_its_settings_are_settings(home: pathlib.Path, tmp_path: pathlib.Path) -> None:
    run("dpkg-deb", "-e", package.find(home), tmp_path)
    assert (tmp_path / "conffiles").read_text().split() == ["/etc/haproxy-k8s-sync.env"]


@package.needs_debhelper
@pytest.mark.skipif(shutil.which("lintian") is None, reason="no lintian here")
def test_lintian_has_nothing_to_say(home: pathlib.Path) -> None:
    debs = [package.find(home), package.find(home, "haproxy-k8s-sync-dbgsym")]
    done = subprocess.run(["lintian", "--allow-root", "--show-overrides", *debs], capture_output=True, text=True)
    assert not re.search(r"^[^NO]: ", done.stdout, re.M) and "\nO: " in done.stdout, done.stdout + done.stderr
    reasons = (ROOT / "deploy/debian/haproxy-k8s-sync.lintian-overrides").read_text()
    assert set(re.findall(r"^O: haproxy-k8s-sync: ([\w-]+)", done.stdout, re.M)) == set(re.findall(r"^haproxy-k8s-sync: ([\w-]+)", reasons, re.M)), \
        "an override that is not needed any more"


@package.needs_debhelper
def test_same_input_same_bytes(home: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """From another folder that holds the sources alone, as an unpacked tarball does."""
    other = tmp_path / "other"
    for name in ("deploy", "scripts", "docs", "templates"):
        shutil.copytree(ROOT / name, other / name)
    (other / "tests").mkdir()
    for path in (ROOT / "Makefile", ROOT / "tests/variants.mk", ROOT / "config.example.env", *ROOT.glob("*.md")):
        shutil.copyfile(path, other / path.relative_to(ROOT))
    (tmp_path / "out").mkdir()
    package.pack(tmp_path / "out", other)
    for name in ("haproxy-k8s-sync", "haproxy-k8s-sync-dbgsym"):
        assert filecmp.cmp(package.find(home, name), package.find(tmp_path / "out", name), shallow=False), name


# --- make install

def installed(root: pathlib.Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir() or path.is_symlink()}


def install(target: str, root: pathlib.Path, built: pathlib.Path) -> None:
    parts = ("install-program", "install-templates", "install-unit", "install-settings", "install-docs") if target == "install" else (target,)
    run("make", "-s", f"B={built}", f"DESTDIR={root}", *parts)


def test_make_install_and_uninstall(tmp_path: pathlib.Path) -> None:
    built, root = tmp_path / "built", tmp_path / "root"
    built.mkdir()
    shutil.copy(program(), built / "haproxy-k8s-sync")
    install("install", root, built)
    beside = "usr/local/share/zsh/site-functions"
    expected = {name.replace("usr/", "usr/local/").replace("usr/local/share/zsh/vendor-completions", beside).removesuffix(".gz")
                .replace("lib/systemd", "usr/local/lib/systemd") for name in FILES if "lintian" not in name}
    assert {name for name in installed(root) if "/share/doc/" not in name} == expected
    unit = (root / "usr/local/lib/systemd/system/haproxy-k8s-sync.service").read_text()
    assert re.findall(r"^ExecStart=(.*)", unit, re.M) == ["/usr/local/bin/haproxy-k8s-sync"]
    assert "program=/usr/local/bin/haproxy-k8s-sync\n" in (root / "usr/local/sbin/haproxy-k8s-sync-as-service").read_text()
    settings = root / "etc/haproxy-k8s-sync.env"
    settings.write_text("LOG_LEVEL=debug\n")
    install("install", root, built)
    assert settings.read_text() == "LOG_LEVEL=debug\n", "settings are kept"
    install("uninstall", root, built)
    assert installed(root) == {"etc/haproxy-k8s-sync.env"}


# --- the unit and its settings

def unit_environment(unit: pathlib.Path = UNIT) -> dict[str, str]:
    return dict(line.split("=", 1) for line in re.findall(r"^Environment=(.*)", unit.read_text(), re.M))


def local_environment() -> dict[str, str]:
    """With local.conf."""
    taken = re.search(r"^UnsetEnvironment=(.*)", LOCAL.read_text(), re.M)[1].split()  # type: ignore[index]
    return {name: value for name, value in (unit_environment() | unit_environment(LOCAL)).items() if name not in taken}


def shipped_settings() -> dict[str, str]:
    return dict(line.split("=", 1) for line in re.findall(r"^#([A-Z0-9_]+=.*)", SETTINGS.read_text(), re.M))


def check_config(**settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program(), "check-config"], env=check_env(**settings), capture_output=True, text=True, timeout=20)


def test_settings_that_are_shipped(tmp_path: pathlib.Path) -> None:
    """Each line means something once it is uncommented, and those that are called defaults are."""
    text, settings, unit = SETTINGS.read_text(), shipped_settings(), unit_environment()
    assert not re.search(r"^[^#\n]", text, re.M), "all is commented out"
    (tmp_path / "password").write_text("p\n")
    local = {name: settings.pop(name) for name in unit_environment(LOCAL)}
    assert local == unit_environment(LOCAL)
    done = check_config(**settings, HAPROXY_DATAPLANE_PASSWORD_FILE=str(tmp_path / "password"))
    assert (done.returncode, done.stderr) == (0, "")
    done = check_config(**{name: value for name, value in (settings | local).items() if "_DATAPLANE_" not in name})
    assert (done.returncode, done.stderr) == (0, "")
    settings |= local
    for name in ("HAPROXY_DATAPLANE_URL", "LISTEN_ADDRESS", "SECCOMP"):
        assert settings[name] == unit[name], f"{name} is not what the unit says"
    example = dict(line.split("=", 1) for line in re.findall(r"^#([A-Z0-9_]+=.*)", (ROOT / "config.example.env").read_text(), re.M))
    shown = {name for block in text.split("\n\n") for name in re.findall(r"^#([A-Z0-9_]+)=", block, re.M) if "xample" not in block}
    assert {name for name in shown - unit.keys() if settings[name] != example[name]} == set()


def test_unit_names_settings_that_exist() -> None:
    unit = unit_environment()
    files = {name: value for name, value in unit.items() if "%d/" in value}
    assert files == {"KUBECONFIG": "%d/secret_kubeconfig", "HAPROXY_DATAPLANE_PASSWORD_FILE": "%d/secret_password"}
    done = check_config(**{name: value for name, value in unit.items() if name not in files},
                        HAPROXY_DATAPLANE_USERNAME="u", HAPROXY_DATAPLANE_PASSWORD="p")
    assert (done.returncode, done.stderr) == (0, "")
    done = check_config(**{name: value for name, value in local_environment().items() if name not in files})
    assert (done.returncode, done.stderr) == (0, ""), "with local.conf, which takes away what belongs to a Data Plane API"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
@pytest.mark.parametrize("parts", [[], [LOCAL]], ids=["alone", "local"])
def test_exposure_of_the_unit(parts: list[pathlib.Path], tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "etc/systemd/system"
    (folder / f"{UNIT.name}.d").mkdir(parents=True)
    shutil.copy(UNIT, folder)
    for part in parts:
        shutil.copy(part, folder / f"{UNIT.name}.d")
    done = subprocess.run(["systemd-analyze", "security", "--offline=yes", f"--root={tmp_path}", "--no-pager", f"--threshold={EXPOSURE * 10:.0f}",
                           UNIT.name], capture_output=True, text=True)
    found = re.search(r"Overall exposure level.*: ([\d.]+)", done.stdout)
    assert found and done.returncode == 0 and float(found[1]) <= EXPOSURE, done.stdout + done.stderr


def test_exit_status_that_is_not_tried_again(tmp_path: pathlib.Path) -> None:
    """What the daemon ends with for a setting and for an argument that is wrong."""
    listed = re.search(r"^RestartPreventExitStatus=(.*)", UNIT.read_text(), re.M)[1].split()  # type: ignore[index]
    env = clean_env(LISTEN_ADDRESS=f"127.0.0.1:{free_port()}")
    seen = [subprocess.run([program(), *arguments], env=env | more, capture_output=True, timeout=20).returncode
            for arguments, more in (((), {"NODE_MODE": "x"}), (("x",), {}))]
    assert sorted(map(str, seen)) == sorted(listed)
