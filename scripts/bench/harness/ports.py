"""Ports for servers whose address is told before they listen."""

import socket

_held = []


def held_port():
    """A port of 127.0.0.1 that nobody else gets while this program runs.

    A server that sets SO_REUSEADDR can listen there: the socket that holds the port never listens.
    """
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.bind(("127.0.0.1", 0))
    _held.append(one)
    return one.getsockname()[1]
