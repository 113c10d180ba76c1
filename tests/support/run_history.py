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
    lines = [f"{name} = {toml_text(value)}" for name, value in {"match": match, **settings}.items()]
    return "[[rule]]\n" + "\n".join(lines) + "\n"


def toml_text(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f'"{name}" = {toml_text(each)}' for name, each in value.items()) + " }"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def observed(match="*", throttled=0.0, **settings):
    """A rule whose rows have readings, as those of a GPU have. `throttled` is the share of the samples that saw heat as a reason."""
    heat = {"throttled.hardware_thermal_ratio": [throttled]} if throttled else {}
    readings = {"temperature_celsius": [60.0, 61.0, 64.0], "sm_clock_hertz": [1.98e9], "memory_clock_hertz": [2.6e9], "power_watts": [310.0],
                "energy_joules": [0.5], "throttled_ratio": [throttled], "throttled.software_power_cap_ratio": [0.25], **heat}
    return rule(match, memory_bytes=1 << 20, readings=readings, **settings)


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
