# SPDX-License-Identifier: Apache-2.0
"""Failures: those of a row, which are results, and those of a command, which are errors."""

from . import protocol_pb2 as protocol

Kind = protocol.Outcome


class Refusal(Exception):
    """Reason why a row has no time. Its kind is one of protocol.Outcome."""

    kind = Kind.CRASHED


class Unsupported(Refusal):
    """The framework has no way to execute this."""

    kind = Kind.UNSUPPORTED


class WrongResult(Refusal):
    """An output differs from the reference."""

    kind = Kind.WRONG_RESULT


class UserError(Exception):
    """What the user asked for is wrong: a file, a name, a setting."""

    kind = protocol.Error.USER
    status = 2


class EnvironmentLack(Exception):
    """The machine lacks something: a package, a device, memory."""

    kind = protocol.Error.ENVIRONMENT
    status = 3


def outcome_of(problem):
    """Returns the outcome that a row gets for an exception."""
    if isinstance(problem, Refusal):
        return protocol.Outcome(kind=problem.kind, reason=_text(str(problem)))
    if isinstance(problem, MemoryError):
        return protocol.Outcome(kind=Kind.OUT_OF_MEMORY, reason=b"the operands do not fit into memory")
    return protocol.Outcome(kind=Kind.CRASHED, reason=_text(f"the worker failed: {type(problem).__name__}: {problem}"))


def error_of(problem):
    """Returns the error that an exception is as an answer to a request."""
    kind = getattr(problem, "kind", protocol.Error.INTERNAL) if isinstance(problem, (UserError, EnvironmentLack)) else protocol.Error.INTERNAL
    text = str(problem) if kind != protocol.Error.INTERNAL else f"{type(problem).__name__}: {problem}"
    return protocol.Error(kind=kind, text=_text(text))


def is_timed(row):
    """Returns whether a row has a time to use."""
    return row.outcome.kind in (Kind.OK, Kind.UNSTABLE)


def _text(words, most=4000):
    """Returns one line of at most `most` bytes: texts of frameworks have pages."""
    return " ".join(words.split()).encode()[:most]
