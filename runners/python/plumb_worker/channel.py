# SPDX-License-Identifier: Apache-2.0
"""Frames over the socket that `plumb` left open: a 32-bit little-endian length, then that many bytes."""

import os
import socket
import stat
import struct

CHANNEL_VARIABLE = "PLUMB_WORKER_CHANNEL"
MAX_FRAME = 64 << 20  # bytes, without the length


class ChannelError(Exception):
    """The other side broke the protocol."""


class ChannelClosed(ChannelError):
    """The other side is gone."""


class Channel:
    """Channel for frames over one end of a connected stream socket."""

    def __init__(self, connection):
        self._socket = connection

    def send(self, payload):
        """Sends one frame. Raises ChannelError above MAX_FRAME."""
        if len(payload) > MAX_FRAME:
            raise ChannelError(f"a frame of {len(payload)} bytes is longer than {MAX_FRAME}")
        try:
            self._socket.sendall(struct.pack("<I", len(payload)) + payload)
        except OSError as problem:
            raise ChannelClosed(str(problem)) from None

    def receive(self):
        """Returns the next frame, or None if the other side closed the channel between two frames."""
        head = self._receive(4)
        if not head:
            return None
        if len(head) < 4:
            raise ChannelClosed("the channel was closed in the middle of a frame")
        (length,) = struct.unpack("<I", head)
        if length > MAX_FRAME:
            raise ChannelError(f"a frame of {length} bytes is longer than {MAX_FRAME}")
        payload = self._receive(length)
        if len(payload) < length:
            raise ChannelClosed("the channel was closed in the middle of a frame")
        return bytes(payload)

    def _receive(self, count):
        """Returns `count` bytes, fewer only at the end of the stream. Memory grows only with what arrived."""
        received = bytearray()
        while len(received) < count:
            try:
                piece = self._socket.recv(min(count - len(received), 1 << 20))
            except OSError as problem:
                raise ChannelClosed(str(problem)) from None
            if not piece:
                break
            received += piece
        return received


def channel_from_environment():
    """Takes over the descriptor that `plumb` left open. Returns None if this process was started by hand."""
    number = os.environ.pop(CHANNEL_VARIABLE, "")
    if not number.isdecimal() or len(number) > 9:
        return None
    try:
        if not stat.S_ISSOCK(os.fstat(int(number)).st_mode):
            return None
        os.set_inheritable(int(number), False)  # a process that a framework starts must not keep it open
        connection = socket.socket(fileno=int(number))
    except OSError:
        return None
    if connection.type != socket.SOCK_STREAM:
        connection.detach()
        return None
    return Channel(connection)
