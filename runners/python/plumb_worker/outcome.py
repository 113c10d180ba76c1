# SPDX-License-Identifier: Apache-2.0
"""Failures: those of a row, which are results, and those of a command, which are errors."""


class Refusal(Exception):
    """Reason why a row has no time. Its kind is one of results::Outcome (harness/results/measurement.hpp)."""

    kind = "crashed"


class Unsupported(Refusal):
    """The framework has no way to execute this."""

    kind = "unsupported"


class WrongResult(Refusal):
    """An output differs from the reference."""

    kind = "wrong_result"


class UserError(Exception):
    """What the user asked for is wrong: a file, a name, a setting."""

    status = 2


class EnvironmentLack(Exception):
    """The machine lacks something: a package, a device, memory."""

    status = 3


def outcome_of(problem):
    """Returns the fields of a row that say what an exception is: its outcome, and the reason."""
    if isinstance(problem, Refusal):
        return _outcome(problem.kind, str(problem))
    if isinstance(problem, MemoryError):
        return _outcome("out_of_memory", "the operands do not fit into memory")
    return _outcome("crashed", f"the worker failed: {type(problem).__name__}: {problem}")


def error_of(problem):
    """Returns the error that an exception is as an answer to a request."""
    if isinstance(problem, (UserError, EnvironmentLack)):
        return {"exit_status": problem.status, "text": _line(str(problem))}
    return {"exit_status": 70, "text": _line(f"{type(problem).__name__}: {problem}")}


def _outcome(kind, reason):
    return {"outcome": kind, "reason": _line(reason)}


def _line(words, most=4000):
    """Returns one line of at most `most` bytes: texts of frameworks have pages."""
    return " ".join(words.split()).encode("utf-8", "replace")[:most].decode("utf-8", "ignore")
