"""What a release is made of without being one: workflows that parse, scripts that they call, versions that agree."""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.harness import parts, realparts
from tests.harness.process import ROOT

from .once import run, version

Object = dict[str, Any]

# What names the image of this version.
MANIFESTS = ("deploy/deployment.yaml", "deploy/config/deployment.yaml", "deploy/services/deployment.yaml", "deploy/compose/compose.yaml")
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
# The rights that a job may have here, with what they are for.
RIGHTS = {"contents": {"read", "write"}, "packages": {"write"}, "id-token": {"write"}, "attestations": {"write"}}


def load(path: pathlib.Path) -> Object:
    # YAML 1.1 takes the key "on" for true.
    return {"on" if key is True else key: value for key, value in yaml.safe_load(path.read_text()).items()}


def jobs() -> Iterator[tuple[str, Object, Object]]:
    for path in WORKFLOWS:
        workflow = load(path)
        for name, job in workflow["jobs"].items():
            yield f"{path.name}:{name}", workflow, job


def steps() -> list[tuple[str, Object]]:
    return [(f"{name}:{i}", step) for name, _, job in jobs() for i, step in enumerate(job["steps"])]


RUNS = [(name, step["run"]) for name, step in steps() if "run" in step]


def test_there_are_workflows() -> None:
    assert {path.name for path in WORKFLOWS} == {"ci.yml", "release.yml"}
    assert load(ROOT / ".github/workflows/release.yml")["on"] == {"push": {"tags": ["v*"]}}


@pytest.mark.parametrize("name, workflow, job", [pytest.param(*each, id=each[0]) for each in jobs()])
def test_jobs_have_few_rights_and_an_end(name: str, workflow: Object, job: Object) -> None:
    assert "permissions" in workflow, "without it a job has all rights that the repository gives"
    rights = job.get("permissions", workflow["permissions"])
    assert isinstance(rights, dict), "rights are named one by one"
    for right, value in rights.items():
        assert value in RIGHTS.get(right, ()), f"{right}: {value}"
    # Only what publishes may write, and that compiles nothing.
    if "write" in rights.values():
        assert name == "release.yml:publish" and not any("make " in step.get("run", "") for step in job["steps"])
    assert job["timeout-minutes"] <= 90
    assert workflow["defaults"]["run"]["shell"] == "bash", "unnamed, it is run without pipefail, in a container even as sh"


@pytest.mark.parametrize("name, step", [pytest.param(*each, id=each[0]) for each in steps() if "uses" in each[1]])
def test_actions_are_pinned(name: str, step: Object) -> None:
    """A tag can be moved to another commit, a commit cannot."""
    assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", step["uses"])
    if step["uses"].startswith("actions/checkout@"):
        assert step["with"]["persist-credentials"] is False


def test_one_action_one_version() -> None:
    seen: dict[str, set[str]] = {}
    for path in WORKFLOWS:
        for action, pin in re.findall(r"uses: (\S+)@(.*)$", path.read_text(), re.M):
            assert re.fullmatch(r"[0-9a-f]{40} # v\d+\.\d+\.\d+", pin), f"{action}: which release it is stands beside the commit"
            seen.setdefault(action, set()).add(pin)
    assert all(len(pins) == 1 for pins in seen.values()), seen


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="no shellcheck here (Debian's package shellcheck)")
def test_steps_are_sound_shell(tmp_path: pathlib.Path) -> None:
    paths = []
    for i, (name, text) in enumerate(RUNS):
        path = tmp_path / f"{i:02d}-{name.replace(':', '-')}"
        # As Actions runs it; an expression is replaced before the shell sees it.
        path.write_text("#!/bin/bash\nset -eo pipefail\n" + re.sub(r"\$\{\{.*?\}\}", "expression", text) + "\n")
        paths.append(path)
    assert len(paths) > 10
    # What comes from $GITHUB_ENV is assigned by the machinery.
    run("shellcheck", "-e", "SC2154", *paths)


def test_workflows_by_their_linter() -> None:
    """Names of jobs, steps, matrices and contexts, kinds of values, inputs of well-known actions."""
    with parts.or_skip():
        actionlint = realparts.actionlint()
    run(actionlint, "-no-color", "-shellcheck=", "-pyflakes=", *WORKFLOWS)


def test_no_expression_in_shell() -> None:
    """Text from outside (a branch's name) in the middle of a script is a script: it goes by the environment."""
    for name, text in RUNS:
        assert "${{" not in text, name


def targets() -> set[str]:
    database = subprocess.run(["make", "-pnrR", "-f", "Makefile", "--no-print-directory", "help"], cwd=ROOT, capture_output=True,
                              text=True, check=False).stdout
    return set(re.findall(r"^([\w-]+):(?!=)", database, re.M))


def test_what_steps_call_is_there() -> None:
    known = targets()
    called, scripts = set(), set()
    for _, text in RUNS:
        for line in re.findall(r"^make (.*)$", text, re.M):
            called |= {word for word in line.split() if "=" not in word and not word.startswith("-")}
        scripts |= set(re.findall(r"(?:^|[\s$(])((?:scripts|\.ci)/[\w-]+)", text))
    assert {"test", "image", "sbom", "dist"} <= called <= known, called - known
    assert {"scripts/release-notes", "scripts/release-check", "scripts/image-index"} <= scripts
    for script in scripts:
        assert shutil.which(ROOT / script), f"{script} is not there or no program"


def test_what_is_built_is_what_is_published() -> None:
    """Names that one job writes and another one reads."""
    text = (ROOT / ".github/workflows/release.yml").read_text()
    packaging = (ROOT / "scripts/packaging.mk").read_text()
    assert "haproxy-k8s-sync-$VERSION-$arch.spdx.json" in text and "$(RELEASED)-$(ARCH).spdx.json" in packaging
    assert "released/*.oci.tar" in text and "$(RELEASED)-$(ARCH).oci.tar" in packaging
    assert "RELEASED = $B/haproxy-k8s-sync-$(VERSION)\n" in packaging
    arches = [entry["arch"] for entry in load(ROOT / ".github/workflows/release.yml")["jobs"]["build"]["strategy"]["matrix"]["include"]]
    assert re.search(r"for arch in (.*); do", text)[1].split() == arches == ["amd64", "arm64"]  # type: ignore[index]


def test_image_is_scanned_before_anything_is_published() -> None:
    """In the job that publishing waits for, after the image is made, and what is found ends it."""
    release = load(ROOT / ".github/workflows/release.yml")["jobs"]
    assert release["publish"]["needs"] == "build" and "if" not in release["publish"]
    steps_of = release["build"]["steps"]
    scans = [i for i, step in enumerate(steps_of) if step.get("uses", "").startswith("anchore/scan-action@")]
    made = [i for i, step in enumerate(steps_of) if "make image" in step.get("run", "")]
    collected = [i for i, step in enumerate(steps_of) if "upload-artifact" in step.get("uses", "")]
    assert len(scans) == 1 and made[0] < scans[0] < collected[0]
    scan = steps_of[scans[0]]
    assert not {"if", "continue-on-error"} & set(scan) and scan["with"]["fail-build"] is True and scan["with"]["severity-cutoff"] == "high"
    assert scan["with"]["image"] == "oci-archive:${{ env.ARCHIVE }}"
    assert any("ARCHIVE=" in step.get("run", "") and "*.oci.tar" in step["run"] for step in steps_of[made[0]:scans[0]])


def test_crates_are_audited_before_anything_is_published() -> None:
    """On each push, and in the job that publishing waits for."""
    for workflow, job in (("ci.yml", "crates"), ("release.yml", "build")):
        of_it = load(ROOT / ".github/workflows" / workflow)["jobs"][job]["steps"]
        asked = [step for step in of_it if step.get("uses", "").startswith("EmbarkStudios/cargo-deny-action@")]
        assert len(asked) == 1 and "continue-on-error" not in asked[0] and asked[0]["with"]["manifest-path"] == "src/template/Cargo.toml"
        assert "command" not in asked[0]["with"], "all checks, advisories among them"
    taken = {line.split()[-1] for line in (ROOT / "src/template/licences").read_text().splitlines() if line and not line.startswith("#")}
    allowed = re.search(r"^allow = (\[.*\])$", (ROOT / "src/template/deny.toml").read_text(), re.M)
    assert allowed and set(yaml.safe_load(allowed[1])) == taken


def test_provenance_is_of_what_is_published() -> None:
    """SLSA's, of the image by the digest that was pushed, and of each file of the release by its checksum."""
    of_it = load(ROOT / ".github/workflows/release.yml")["jobs"]["publish"]["steps"]
    image, files = [step["with"] for step in of_it if step.get("uses", "").startswith("actions/attest-build-provenance@")]
    assert image["subject-digest"] == "${{ steps.image.outputs.digest }}" and image["push-to-registry"] is True
    assert files == {"subject-checksums": "released/SHA256SUMS"}
    order = [step.get("name", "") for step in of_it]
    assert order.index("Image") < order.index("Provenance of the image") and order.index("Checksums") < order.index("Provenance of the files") < order.index("Release")


def test_what_security_md_says_of_a_release() -> None:
    """Who signs and what it is called stands in two places."""
    said = (ROOT / "SECURITY.md").read_text()
    text = (ROOT / ".github/workflows/release.yml").read_text()
    assert "gh attestation verify" in said and "provenance.sigstore.json" in said and "released/provenance.sigstore.json" in text
    for name in ("SHA256SUMS.sigstore.json", "spdx.json", "/charts/haproxy-k8s-sync"):
        assert name in said and name.replace("/charts", "$CHARTS") in text
    assert "/.github/workflows/release.yml@refs/tags/v" in said and "REGISTRY/OWNER/haproxy-k8s-sync:" in said
    assert 'IMAGE=$REGISTRY/${GITHUB_REPOSITORY,,}"' in text
    used = {line.split()[1] for line in re.findall(r"^\s+cosign .*$", said, re.M)}
    assert used == {"verify", "verify-blob"}


# --- versions and notes


CHANGELOG = """\
# Changelog

## [Unreleased]
### Added
- not yet

## [1.2.3] - 2026-11-21

### Added
- this
  goes on

### Fixed
- that

## [1.2.30-rc.1] - 2026-11-20
- another

[1.2.3]: https://example.com/1.2.3
"""


def notes(tmp_path: pathlib.Path, wanted: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    return subprocess.run([ROOT / "scripts/release-notes", wanted, tmp_path / "CHANGELOG.md"], capture_output=True, text=True, check=False)


def test_notes_are_one_section(tmp_path: pathlib.Path) -> None:
    assert notes(tmp_path, "1.2.3").stdout == "### Added\n- this\n  goes on\n\n### Fixed\n- that\n"
    assert notes(tmp_path, "1.2.30-rc.1").stdout == "- another\n"
    for unknown in ("1.2", "1.2.30", ".*"):
        done = notes(tmp_path, unknown)
        assert done.returncode == 1 and done.stdout == "" and "has no section" in done.stderr


def test_versions_agree() -> None:
    """All but the changelog, whose newest section is Unreleased between releases."""
    done = subprocess.run([ROOT / "scripts/release-check", f"v{version()}"], capture_output=True, text=True, check=False)
    wrong = [line for line in done.stderr.splitlines() if "CHANGELOG.md" not in line]
    assert not wrong, "\n".join(wrong)


def test_tree_that_is_ready_and_tree_that_is_not(tmp_path: pathlib.Path) -> None:
    for name in ("Makefile", "Dockerfile", "charts/haproxy-k8s-sync/Chart.yaml", "scripts/release-check", "scripts/release-notes", *MANIFESTS,
                 *(str(p.relative_to(ROOT)) for p in ROOT.glob("debian/changelog"))):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    changelog = tmp_path / "CHANGELOG.md"

    def check(tag: str) -> list[str]:
        done = subprocess.run([tmp_path / "scripts/release-check", tag], capture_output=True, text=True, check=False)
        assert (done.returncode == 0) == (done.stderr == "")
        return done.stderr.splitlines()

    changelog.write_text(f"## [{version()}] - 2026-11-21\n### Added\n- all\n")
    assert check(f"v{version()}") == []
    other = check("v9.9.9")
    for place in ("VERSION in Makefile", "ARG VERSION in Dockerfile", "version in charts/", "appVersion in charts/", "CHANGELOG.md", *MANIFESTS):
        assert any(place in line for line in other), f"{place} is not named in {other}"
    assert any("is not vMAJOR" in line for line in check("1.x"))
    changelog.write_text(f"## [Unreleased]\n- more\n\n## [{version()}] - 2026-11-21\n- all\n")
    assert any("'Unreleased'" in line for line in check(f"v{version()}"))
    changelog.write_text(f"## [{version()}]\n- all\n")
    assert any("- DATE" in line for line in check(f"v{version()}")), "a version without its day is none yet"
    changelog.write_text(f"## [{version()}] - 2026-11-21\n\n## [0.0.1]\n- first\n")
    assert any("nothing in it" in line for line in check(f"v{version()}"))


# --- the chart


def test_chart_names_the_image_that_is_published_with_it(helm: pathlib.Path, tmp_path: pathlib.Path) -> None:
    url = "https://git.example/acme/haproxy-k8s-sync"
    said = run("scripts/release-chart", "registry.example/acme/haproxy-k8s-sync", tmp_path, url, HELM=str(helm)).strip()
    assert said == str(tmp_path / f"haproxy-k8s-sync-{version()}.tgz")
    rendered = run(helm, "template", "x", said, "--set", "env.ingressServiceName=web,env.haproxy.dataplaneURL=http://haproxy:5555",
                   "--set", "env.haproxy.username=u,env.haproxy.password=p")
    # The daemon's, and that of `helm test`.
    assert re.findall(r'^ +image: "?([^"\n]*)"?$', rendered, re.M) == [f"registry.example/acme/haproxy-k8s-sync:{version()}"] * 2
    about = yaml.safe_load(run(helm, "show", "chart", said))
    assert about["home"] == url and about["sources"] == [url]
    pages = re.findall(r"\[(docs/[^]]+)\]\(([^)]+)\)", run(helm, "show", "readme", said))
    assert len(pages) > 3 and all(link == f"{url}/blob/v{version()}/{page}" and (ROOT / page).is_file() for page, link in pages), pages
    # The tree's own is as it was: it names an image that everybody builds for himself.
    assert yaml.safe_load((ROOT / "charts/haproxy-k8s-sync/values.yaml").read_text())["image"]["repository"] == "haproxy-k8s-sync"
