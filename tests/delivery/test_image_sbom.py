"""The bill of materials: valid SPDX, and true of the root filesystem that it is made of."""

from __future__ import annotations

import copy
import hashlib
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
from typing import Any

import pytest

from tests.harness import parts, realparts
from tests.harness.process import ROOT

from .image import EPOCH, rootfs
from .once import run, version

Object = dict[str, Any]


def script() -> Any:
    """scripts/sbom as a module: it has no suffix."""
    loader = importlib.machinery.SourceFileLoader("sbom", str(ROOT / "scripts/sbom"))
    spec = importlib.util.spec_from_loader("sbom", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    try:
        loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    return module


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return rootfs(tmp_path_factory)


def make(root: pathlib.Path) -> str:
    return run("scripts/sbom", root, version(), SOURCE_DATE_EPOCH=EPOCH)


@pytest.fixture
def document(root: pathlib.Path) -> Object:
    return json.loads(make(root))


def packages(document: Object) -> dict[str, Object]:
    return {package["name"]: package for package in document["packages"]}


def validate(path: pathlib.Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(realparts.spdx_tools())}
    return subprocess.run([sys.executable, "-m", "spdx_tools.spdx.clitools.pyspdxtools", "-i", path], env=env, capture_output=True,
                          text=True, check=False)


def test_valid_by_the_tool_of_those_who_made_the_format(document: Object, tmp_path: pathlib.Path) -> None:
    with parts.or_skip():
        realparts.spdx_tools()
    path = tmp_path / "sbom.spdx.json"
    path.write_text(json.dumps(document))
    done = validate(path)
    assert done.returncode == 0, done.stdout + done.stderr
    # It would say so.
    for break_it in (lambda d: d["packages"][3].update(licenseDeclared="no such licence"),
                     lambda d: d["relationships"].append({"spdxElementId": "SPDXRef-Nobody", "relationshipType": "CONTAINS",
                                                          "relatedSpdxElement": "SPDXRef-Image"})):
        broken = copy.deepcopy(document)
        break_it(broken)
        path.write_text(json.dumps(broken))
        assert validate(path).returncode != 0


def test_every_package_of_the_image_is_there(document: Object, root: pathlib.Path) -> None:
    listed = {path.name for path in (root / "var/lib/dpkg/status.d").iterdir()}
    crates = set(re.findall(r'^name = "(.*)"\n.*\nsource = ', (ROOT / "src/template/Cargo.lock").read_text(), re.M))
    assert packages(document).keys() == listed | crates | {"haproxy-k8s-sync", "haproxy-k8s-sync-image"}
    installed = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "libc6"], capture_output=True, text=True, check=True).stdout
    libc = packages(document)["libc6"]
    assert libc["versionInfo"] == installed
    purl = libc["externalRefs"][0]["referenceLocator"]
    assert purl.startswith(f"pkg:deb/debian/libc6@{installed.replace('+', '%2B')}?arch=") and "&distro=debian-" in purl


def test_the_daemon_is_the_one_in_the_image(document: Object, root: pathlib.Path) -> None:
    file, = document["files"]
    data = (root / file["fileName"]).read_bytes()
    sums = {entry["algorithm"]: entry["checksumValue"] for entry in file["checksums"]}
    assert sums == {"SHA1": hashlib.sha1(data).hexdigest(), "SHA256": hashlib.sha256(data).hexdigest()}
    assert packages(document)["haproxy-k8s-sync"]["versionInfo"] == version()
    assert packages(document)["haproxy-k8s-sync"]["licenseDeclared"] == "Apache-2.0"


def test_a_build_without_templates_has_no_crates() -> None:
    sbom = script()
    crates = {crate["name"]: crate for crate in sbom.crates(b"\x7fELF")}
    assert crates["memchr"]["licenseDeclared"] == "Unlicense OR MIT"
    assert crates["minijinja"]["externalRefs"][0]["referenceLocator"] == f"pkg:cargo/minijinja@{crates['minijinja']['versionInfo']}"
    assert sbom.crates(b"\x7fELF this build has no templates: ") == []
    assert sbom.WITHOUT_TEMPLATES in (ROOT / "src/template/engine_values.c").read_bytes()


def test_relationships(document: Object) -> None:
    triples = {(r["spdxElementId"], r["relationshipType"], r["relatedSpdxElement"]) for r in document["relationships"]}
    daemon = "SPDXRef-Package-haproxy-k8s-sync"
    assert ("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-Image") in triples
    assert (daemon, "STATIC_LINK", "SPDXRef-Package-uthash-dev") in triples
    assert (daemon, "STATIC_LINK", "SPDXRef-Crate-minijinja") in triples
    assert (daemon, "DEPENDS_ON", "SPDXRef-Package-libc6") in triples
    assert not any(a == daemon and "ca-certificates" in b for a, _, b in triples)
    # Each is reached from the image.
    reached = {b for _, _, b in triples}
    assert {package["SPDXID"] for package in document["packages"]} <= reached


def test_same_input_same_text_other_input_other_name(root: pathlib.Path) -> None:
    assert make(root) == make(root)
    other = json.loads(run("scripts/sbom", root, "9.9.9", SOURCE_DATE_EPOCH=EPOCH))
    assert other["documentNamespace"] != json.loads(make(root))["documentNamespace"]


@pytest.mark.parametrize("names, wanted", [
    (["Expat"], "MIT"),
    (["BSD-2-clause", "expat"], "BSD-2-Clause AND MIT"),
    (["GPL-2+ or LGPL-3+", "ISC"], "(GPL-2.0-or-later OR LGPL-3.0-or-later) AND ISC"),
    (["ISC and Zlib"], "ISC AND Zlib"),
    (["GPL-2+ with Libtool exception"], "GPL-2.0-or-later WITH Libtool-exception"),
    (["GPL-2+ with some exception"], None),
    (["Expat", "public-domain"], None),
    ([], None),
])
def test_licences_by_spdx_names(names: list[str], wanted: str | None) -> None:
    assert script().spdx_expression(names) == wanted


def test_licences_of_a_copyright_file() -> None:
    text = ("Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\nFiles: *\nCopyright: x\nLicense: Expat\n text\n\n"
            "Files: a\nLicense: GPL-2+\n\nLicense: Zlib\n the text of one that no files have\n")
    assert script().licence_names(text) == ["Expat", "GPL-2+"]
    assert script().licence_names("This package was debianized by somebody.\nLicense: GPL\n") == []
