#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes mistakes in the CUDA backend, one at a time, and asks whether the tests over the stand-in catch each.

mutants.py SOURCE BUILD [NAME…]: SOURCE is changed and put back, so give it a copy. BUILD is its configured build
folder. Exit status 1: a mistake went unnoticed.

mutants.py --check SOURCE: asks only whether each mistake can still be made, and changes nothing."""

import pathlib
import subprocess
import sys
import tomllib

SECONDS = 600
FEWEST = 20  # that must be tried
MUTANTS = tomllib.loads((pathlib.Path(__file__).parent / "mutants.toml").read_text())


def text_to_change(source, mutant):
    """Returns the text of a mistake's file, which must have what is changed once."""
    text = (source / mutant["file"]).read_text()
    if text.count(mutant["from"]) != 1:
        raise SystemExit(f"{mutant['file']}: the text occurs {text.count(mutant['from'])} times: {mutant['from']}")
    return text


def caught(source, build, mutant):
    """Returns how a mistake shows: "compiler", "tests" or None."""
    text = text_to_change(source, mutant)
    path = source / mutant["file"]
    path.write_text(text.replace(mutant["from"], mutant["to"]))
    try:
        made = subprocess.run(["ninja", "-C", build, "plumb_cuda_driver_test"], capture_output=True, check=False)
        if made.returncode != 0:
            return "compiler"
        test = pathlib.Path(build) / "tests/unit/cuda_driver/plumb_cuda_driver_test"
        try:
            ran = subprocess.run([test, f"--gtest_filter={mutant['tests']}"], capture_output=True, check=False, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return "tests"
        if b"Running 0 tests" in ran.stdout:
            raise SystemExit(f"no test is named {mutant['tests']}")
        return "tests" if ran.returncode != 0 else None
    finally:
        path.write_text(text)


def check(source):
    for mutant in MUTANTS.values():
        text_to_change(source, mutant)
    if len(MUTANTS) < FEWEST:
        raise SystemExit(f"there are {len(MUTANTS)} mistakes, and {FEWEST} are wanted")


def main():
    if sys.argv[1] == "--check":
        check(pathlib.Path(sys.argv[2]))
        return
    source, build, names = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    missed = []
    for name, mutant in MUTANTS.items():
        if names and name not in names:
            continue
        by = caught(source, build, mutant)
        print(f"{name}: {'caught by the ' + by if by else 'NOT CAUGHT'}", flush=True)
        # A mistake that does not compile proves nothing about the tests.
        if by != "tests":
            missed.append(name)
    if missed:
        sys.exit(f"not caught by a test: {', '.join(missed)}")


if __name__ == "__main__":
    main()
