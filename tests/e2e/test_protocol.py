"""The conformance suite that the Kubernetes double is held to, against the real API servers of this run."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.harness import parts, realparts
from tests.harness.process import ROOT
from tests.harness.realkube import ADMIN_TOKEN, RealKube

from .conftest import ONE_WORKER

SUITE = [f"tests/conformance/test_kubernetes_{part}.py" for part in ("protocol", "objects", "leases", "events", "access", "encodings")]


@pytest.mark.parametrize("etcd", ["etcd", pytest.param("etcd-debian", marks=ONE_WORKER)])
def test_a_real_api_server_answers_as_the_double_does(etcd: str, kubes: dict[str, RealKube]) -> None:
    with parts.or_skip(f"{' and '.join(SUITE)} on {etcd}"):
        realparts.kube_apiserver()
        version = realparts.version_of(realparts.PARTS[etcd]())
    kube = kubes[etcd]
    release = re.search(r"\d+\.\d+", version)
    assert release, version
    env = {**os.environ, "KUBE_CONFORMANCE_URL": f"https://127.0.0.1:{kube.port}", "KUBE_CONFORMANCE_TOKEN": ADMIN_TOKEN,
           "KUBE_CONFORMANCE_CA": str(kube.ca), "KUBE_CONFORMANCE_ETCD": release[0]}
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "real", *SUITE], cwd=ROOT, env=env,
                          capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed and int(passed[1]) > 20, f"hardly anything ran:\n{done.stdout}"
