# SPDX-License-Identifier: Apache-2.0
"""Messages between `plumb` and a worker: an envelope of protobuf around a value in JSON (harness/worker/protocol/protocol.proto)."""

import dataclasses
import json
import os

from . import protocol_pb2 as protocol
from .channel import ChannelError
from .protocol_version import PROTOCOL_VERSION


@dataclasses.dataclass
class Request:
    """One request: the name of its kind, such as "EXECUTE", its value as dictionaries, and its attachments."""

    kind: str
    value: dict
    attachments: list
    version: int = 0  # of a HELLO


def read_request(frame):
    """Reads a frame. Raises ChannelError if it is no request."""
    try:
        message = protocol.Request.FromString(frame)
        value = json.loads(message.content.value) if message.content.value else {}
        kind = protocol.Request.Kind.Name(message.kind)
    except Exception:
        raise ChannelError(f"a frame of {len(frame)} bytes is not a request") from None
    return Request(kind, value, list(message.content.attachments), message.hello.version)


def write_reply(kind, value=None, attachments=()):
    """Writes a reply of a kind, such as "ROW". Numbers that are not finite have no JSON: they raise ValueError."""
    message = protocol.Reply(kind=protocol.Reply.Kind.Value(kind))
    if value is not None:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        message.content.value = text.encode("utf-8", "replace")  # a path's bytes may be no text
    message.content.attachments.extend(attachments)
    return message.SerializeToString()


def write_hello(backend):
    """Writes the reply to a HELLO. Every version of the protocol can read it."""
    hello = protocol.Hello(version=PROTOCOL_VERSION, backend=backend.encode())
    return protocol.Reply(kind=protocol.Reply.HELLO, hello=hello).SerializeToString()


def path_of(text):
    """Returns a path of a request. Bytes that are not UTF-8 are characters from U+F780 to U+F7FF in it (path_text() in harness/base)."""
    return os.fsdecode(b"".join(bytes([ord(c) & 0xFF]) if 0xF780 <= ord(c) <= 0xF7FF else c.encode() for c in text))
