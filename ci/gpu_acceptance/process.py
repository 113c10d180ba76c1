# SPDX-License-Identifier: Apache-2.0
"""Runs one program of a step within its limits: time, output and its whole group of processes."""

from __future__ import annotations

import ctypes
import dataclasses
import json
import os
import resource
import signal
import subprocess
import time

from gpu_acceptance.judges import Judgement

MOST_WRITTEN = 512 << 20  # bytes of one file: a program that fills its log ends there
GRACE_SECONDS = 5


class Broken(Exception):
    """A program did not do its work. Holds the judgement that follows."""

    def __init__(self, state, reason):
        super().__init__(reason)
        self.judgement = Judgement(state, [reason])


@dataclasses.dataclass
class Ended:
    name: str
    status: int | None  # None: stopped at its limit; negative: by that signal
    seconds: float
    last_words: str

    def check(self, accepted=(0,)):
        """Throws Broken unless the program ended well."""
        if self.status is None:
            raise Broken("unknown", f"{self.name} was stopped at its limit of {self.seconds:.0f} s")
        if self.status < 0:
            raise Broken("failed", f"{self.name} was ended by {signal.Signals(-self.status).name}")
        if self.status not in accepted:
            state = "unknown" if self.status in (3, 75, 77) else "failed"
            raise Broken(state, f"{self.name} ended with {self.status}: {self.last_words}")
        return self


LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1


def limit_itself():
    """In a new program: it writes no endless file, and ends with this script. Else it would hold the GPU."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_WRITTEN, MOST_WRITTEN))
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def end_group(process):
    """Ends a program and all that it started, first with a request."""
    for number, wait in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, GRACE_SECONDS)):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(wait)
        except subprocess.TimeoutExpired:
            continue
    try:
        os.killpg(process.pid, signal.SIGKILL)  # what ignored the request and outlived its parent
    except ProcessLookupError:
        pass


def last_line(path):
    with open(path, "rb") as stream:
        stream.seek(max(0, path.stat().st_size - 4096))
        lines = stream.read().decode(errors="replace").split("\n")
    return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "no words")


class Call:
    """What a step works with: its folder, environment and deadline."""

    def __init__(self, folder, environment, deadline):
        self.folder, self.environment, self.deadline = folder, environment, deadline

    def left(self):
        return max(0.0, self.deadline - time.monotonic())

    def run(self, name, command, limit, text=None, output=".out"):
        """Runs a program. Its stdout becomes NAME + `output`, its stderr NAME.log, both in the step's folder."""
        limit = min(limit, self.left())
        if limit < 1:
            raise Broken("unknown", f"no time is left for {name}")
        begin = time.monotonic()
        out, log = self.folder / f"{name}{output}", self.folder / f"{name}.log"
        with open(out, "wb") as stdout, open(log, "wb") as stderr:
            stderr.write((" ".join(map(str, command)) + "\n").encode())
            stderr.flush()
            try:
                process = subprocess.Popen(
                    [str(word) for word in command],
                    stdin=subprocess.PIPE,
                    stdout=stdout,
                    stderr=stderr,
                    env=self.environment,
                    start_new_session=True,
                    cwd=self.folder,
                    preexec_fn=limit_itself,
                )
            except OSError as problem:
                raise Broken("failed", f"{name} does not start: {problem}") from None
            try:
                process.communicate((text or "").encode(), timeout=limit)
                status = process.returncode
            except subprocess.TimeoutExpired:
                status = None
            finally:
                end_group(process)
        return Ended(name, status, time.monotonic() - begin, last_line(log))

    def document(self, name, command, limit, **more):
        """Runs a program whose stdout is one JSON document, and returns it."""
        self.run(name, command, limit, output=".json", **more).check()
        return self.parsed(f"{name}.json")

    def parsed(self, file):
        try:
            document = json.loads((self.folder / file).read_bytes())
        except (OSError, ValueError) as problem:
            raise Broken("failed", f"{file} is not a JSON document: {str(problem)[:200]}") from None
        if not isinstance(document, dict):
            raise Broken("failed", f"{file} is not a JSON object")
        return document
