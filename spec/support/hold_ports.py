"""Holds ports of 127.0.0.1 for servers that start later, or stop and come back, for specs.

    hold_ports.py COUNT

Prints the ports, one a line, and holds them until it is killed. Meanwhile the kernel gives none of them to a
program that asks for any free port, or that connects. A program that asks for one of them by its number can
listen there if it sets SO_REUSEADDR, as servers do.
"""

import signal
import socket
import sys


def main():
    held = []
    for _ in range(int(sys.argv[1])):
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind(("127.0.0.1", 0))  # and never listens, which would keep others from it
        held.append(one)
    print("\n".join(str(one.getsockname()[1]) for one in held), flush=True)
    signal.pause()


main()
