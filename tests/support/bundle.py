# SPDX-License-Identifier: Apache-2.0
"""Makes a bundle of a build as `ci/package` does, but neither compressed nor with the system's libraries."""

import pathlib
import re
import shutil
import subprocess
import tempfile


def cache_entry(build, name):
    """Returns an entry of the build's CMake cache."""
    return re.search(rf"^{name}:[A-Z]+=(.*)$", (build / "CMakeCache.txt").read_text(), re.M)[1]


def make_bundle(build, file):
    """Installs the build, and packs what it installs, with oneDNN of the default stack, into an archive with the folder `plumb`."""
    with tempfile.TemporaryDirectory(prefix="plumb-") as scratch:
        stage = pathlib.Path(scratch) / "plumb"
        cmake = cache_entry(build, "CMAKE_COMMAND")
        subprocess.run([cmake, "--install", build, "--prefix", stage], check=True, capture_output=True)
        shutil.rmtree(stage / "include")
        shutil.rmtree(stage / "lib")
        (stage / "lib/plumb").mkdir(parents=True)
        shutil.copy(cache_entry(build, "PLUMB_ONEDNN_LIBRARY"), stage / "lib/plumb/libdnnl.so.3")
        subprocess.run(["tar", "-C", scratch, "-cf", file, "plumb"], check=True)
    return file
