# SPDX-License-Identifier: Apache-2.0
"""Makes the bundle that travels to a machine with a GPU: plumb, its tests for a device, and this script."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

MOST_BYTES = 48 << 20
TESTS = (
    "tests/contract/plumb_backend_contract_test",
    "tests/unit/cuda/plumb_cuda_test",
    "tests/device/plumb_gpu_checks",
    "tests/bench/model_latency",
)
NODE_TESTS = pathlib.Path("/usr/share/libonnx-testdata/data/node")  # of Debian's libonnx-testdata, 1.2 MB when packed
OF_THE_SYSTEM = re.compile(r"lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s)\.so")


def make(build="build/ci", file="build/gpu-bundle.tar.xz"):
    here = pathlib.Path(__file__).resolve().parent
    root = here.parents[1]
    build, file = root / build, (root / file).resolve()
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        subprocess.run([root / "ci/package", build, work / "plain.tar.xz"], check=True, stdout=sys.stderr)
        with tarfile.open(work / "plain.tar.xz") as tar:
            tar.extractall(work)
        tests = work / "plumb/tests"
        tests.mkdir()
        for test in TESTS:
            subprocess.run(["strip", "-o", tests / pathlib.Path(test).name, build / test], check=True)
        needed = subprocess.run(["ldd", *sorted(tests.iterdir())], check=True, capture_output=True, text=True).stdout
        for library, path in set(re.findall(r"^\s+(\S+) => (/\S+)", needed, re.MULTILINE)):
            kept = work / "plumb/lib/plumb" / library
            if not OF_THE_SYSTEM.match(library) and not kept.exists():
                shutil.copy(path, kept)
        copy_scripts(root, tests)
        file.parent.mkdir(parents=True, exist_ok=True)
        packed = subprocess.Popen(
            ["tar", "-C", work, "--sort=name", "--owner=0", "--group=0", "--numeric-owner", "-cf", "-", "plumb"], stdout=subprocess.PIPE
        )
        with open(file, "wb") as out:
            subprocess.run(["xz", "-T0", "-6"], stdin=packed.stdout, stdout=out, check=True)
        if packed.wait() != 0:
            raise SystemExit(3)
    size = file.stat().st_size
    print(f"{file}: {size} bytes")
    if size > MOST_BYTES:
        print(f"error: {file} is larger than {MOST_BYTES >> 20} MiB", file=sys.stderr)
        return 3
    return 0


def copy_scripts(root, tests):
    """Puts this script, the comparison with other executors and ONNX's operator tests into the bundle's folder of tests."""
    shutil.copy(root / "ci/gpu-acceptance", tests)
    os.chmod(tests / "gpu-acceptance", 0o755)
    for source, target in ((root / "ci/gpu_acceptance", "gpu_acceptance"), (root / "tests/bench/peers", "peers")):
        shutil.copytree(source, tests / target, ignore=shutil.ignore_patterns("__pycache__"))
    if NODE_TESTS.is_dir():
        shutil.copytree(NODE_TESTS, tests / "onnx_node_tests")
