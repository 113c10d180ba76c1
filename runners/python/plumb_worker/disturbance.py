# SPDX-License-Identifier: Apache-2.0
"""What the rest of the machine did to a block: the rules of harness/measure/disturbance.cpp."""

import dataclasses
import math
import resource
import time

SWITCHES = 2  # that any block may have…
SWITCHES_PER_SECOND = 40.0  # …and so many more for each second it lasts
STEAL_RATIO = 0.02
STEAL_TICKS = 2.0
PRESSURE_RATIO = 0.10
PRESSURE_BLOCK = 0.005  # seconds from which pressure is judged


@dataclasses.dataclass
class Reading:
    """Counters at one moment. None: the system does not report it."""

    involuntary_switches: int = 0
    steal_ticks: float = None
    total_ticks: float = None
    pressure_microseconds: float = None
    load: float = None
    wall: float = 0.0


@dataclasses.dataclass
class Disturbance:
    """Effect on one block, judged."""

    involuntary_switches: int = 0
    steal_ratio: float = None
    load: float = None
    pressure_ratio: float = None
    disturbed: bool = False


def read(proc="/proc"):
    """Reads the counters of this process and of the machine. What cannot be read is None."""
    reading = Reading(involuntary_switches=resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw)
    # cpu user nice system idle iowait irq softirq steal (proc_stat(5)); guest is part of user.
    words = _first_line(f"{proc}/stat")
    ticks = [_number(word) for word in words[1:9]]
    if len(ticks) == 8 and words[0] == "cpu" and None not in ticks:
        reading.total_ticks, reading.steal_ticks = sum(ticks), ticks[7]
    words = _first_line(f"{proc}/pressure/cpu")
    if words and words[0] == "some":
        reading.pressure_microseconds = next((_number(word[6:]) for word in words if word.startswith("total=")), None)
    words = _first_line(f"{proc}/loadavg")
    reading.load = _number(words[0]) if words else None
    reading.wall = time.perf_counter()
    return reading


def between(begin, end):
    """Compares two readings of one block and judges it."""
    wall = end.wall - begin.wall
    result = Disturbance(involuntary_switches=max(0, end.involuntary_switches - begin.involuntary_switches))
    result.disturbed = result.involuntary_switches > SWITCHES + SWITCHES_PER_SECOND * max(0.0, wall)
    stolen, total = _difference(begin.steal_ticks, end.steal_ticks), _difference(begin.total_ticks, end.total_ticks)
    if stolen is not None and total:
        result.steal_ratio = min(1.0, stolen / total)
        result.disturbed = result.disturbed or (stolen >= STEAL_TICKS and result.steal_ratio > STEAL_RATIO)
    waited = _difference(begin.pressure_microseconds, end.pressure_microseconds)
    if waited is not None and wall > 0:
        result.pressure_ratio = min(1.0, waited * 1e-6 / wall)
        result.disturbed = result.disturbed or (wall >= PRESSURE_BLOCK and result.pressure_ratio > PRESSURE_RATIO)
    if end.load is not None:
        result.load = max(0.0, end.load - 1.0)
    return result


def _first_line(path):
    try:
        with open(path, "rb") as file:
            return file.read(4096).split(b"\n")[0].decode("ascii", "replace").split()
    except OSError:
        return []


def _number(text):
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _difference(begin, end):
    return None if begin is None or end is None or end < begin else end - begin
