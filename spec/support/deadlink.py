"""A TCP relay whose connections can die silently, for specs.

    deadlink.py TARGET_HOST TARGET_PORT

Prints the port on which it listens, then one line for each event: "accept N", "ask N METHOD PATH" (plain HTTP
only), "end N", and "dead N" for connections that died; each ends with the time. Signals:

    USR1  every open connection dies; new ones work (like a NAT that lost its state, or a failed load balancer)
    USR2  the same, and new ones get no answer either (like an unplugged cable)
    HUP   new connections work again
    ALRM  every connection is closed (like a server that ends)

A dead connection is one whose packets the kernel drops before TCP sees them, by a socket filter:
no acknowledgement, no FIN, no RST. That needs no special rights and no separate network.
"""

import asyncio
import ctypes
import re
import signal
import socket
import struct
import time

SO_ATTACH_FILTER, SO_DETACH_FILTER = 26, 27
REQUEST = re.compile(rb"^([A-Z]+) (\S+) HTTP/1\.1\r\n")


def drop_packets(sock):
    accept_nothing = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0))  # "return 0"
    program = struct.pack("HxxxxxxQ", 1, ctypes.addressof(accept_nothing))
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)


class Relay:
    def __init__(self, host, port):
        self.target = (host, port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setblocking(False)
        self.live = {}  # number: socket to the client
        self.dead = []  # never closed: that would send something
        self.count = 0

    def say(self, *words):
        print(*words, "at=%.3f" % time.monotonic(), flush=True)

    def kill_all(self):
        for number, sock in self.live.items():
            drop_packets(sock)
            self.dead.append(sock)
            self.say("dead", number)
        self.live.clear()

    def pull(self):
        drop_packets(self.listener)
        self.kill_all()

    def close_all(self):
        for sock in self.live.values():
            sock.shutdown(socket.SHUT_RDWR)

    def plug(self):
        self.listener.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)

    async def pump(self, number, source, sink, is_client):
        loop = asyncio.get_running_loop()
        while True:
            data = await loop.sock_recv(source, 65536)
            if number not in self.live:
                return  # dead: nothing passes, nothing is closed
            if not data:
                break
            asked = REQUEST.match(data) if is_client else None
            if asked:
                self.say("ask", number, asked[1].decode(), asked[2].decode())
            await loop.sock_sendall(sink, data)

    async def serve(self, number, client):
        loop = asyncio.get_running_loop()
        self.live[number] = client
        self.say("accept", number)
        server = socket.socket()
        server.setblocking(False)
        try:
            await loop.sock_connect(server, self.target)
            pumps = {asyncio.ensure_future(self.pump(number, client, server, True)),
                     asyncio.ensure_future(self.pump(number, server, client, False))}
            _, rest = await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            for one in rest:
                one.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
        except OSError:
            pass
        if number in self.live:
            del self.live[number]
            self.say("end", number)
            client.close()
            server.close()
        else:
            self.dead.append(server)

    async def run(self):
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGUSR1, self.kill_all)
        loop.add_signal_handler(signal.SIGUSR2, self.pull)
        loop.add_signal_handler(signal.SIGHUP, self.plug)
        loop.add_signal_handler(signal.SIGALRM, self.close_all)
        print(self.listener.getsockname()[1], flush=True)
        tasks = set()
        while True:
            client, _ = await loop.sock_accept(self.listener)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.count += 1
            task = asyncio.ensure_future(self.serve(self.count, client))
            tasks.add(task)
            task.add_done_callback(tasks.discard)


if __name__ == "__main__":
    import sys

    asyncio.run(Relay(sys.argv[1], int(sys.argv[2])).run())
