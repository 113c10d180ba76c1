# SPDX-License-Identifier: Apache-2.0
"""Makes a store with a history: real runs of the fake worker, each at a moment of the past."""

import pathlib

from plumb_command import Command

#: Debian's libfaketime: the program believes that it is some time ago.
FAKETIME = next(iter(sorted(pathlib.Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))), None)

SUITE = """[suite]
name = "nightly"
version = 1
reuse = "never"
[[model]]
name = "lenet"
batch = [1, 8]
[[model]]
name = "squeezenet1.1"
"""


def rule(match, **settings):
    """A rule of the fake worker's script."""
    lines = [f"{name} = {json_text(value)}" for name, value in {"match": match, **settings}.items()]
    return "[[rule]]\n" + "\n".join(lines) + "\n"


def json_text(value):
    return f'"{value}"' if isinstance(value, str) else repr(value)


class RunHistory(Command):
    """Tests that need runs of the past."""

    def script(self, version="1.0", rules=""):
        """A script of the fake worker: its version, then what it does."""
        return f'[identity]\nlibrary = "fake {version}"\n[facts]\n"library.version" = "{version}"\n{rules}'

    def run_ago(self, days, stack, suite=SUITE, name="nightly", expect=0, options=()):
        """Runs a suite `days` ago, with more options of `plumb run`, and returns the run's id."""
        kept = self.environment
        # The monotonic clock stays as it is: pauses and limits are real.
        self.environment = {**kept, "LD_PRELOAD": str(FAKETIME), "FAKETIME": f"-{days * 86400:.0f}s", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                            "ASAN_OPTIONS": "verify_asan_link_order=0"}
        try:
            return self.json("run", self.suite(suite, name), "--stack", stack, *options, expect=expect)["run"]
        finally:
            self.environment = kept
