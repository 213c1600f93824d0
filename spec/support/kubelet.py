"""A kubelet's logs and commands, for kube-apiserver: kubelet.py CERT KEY FILE prints its port. For each
container it serves the content of FILE, lines that begin with their times, from the query's sinceTime on. It runs two
commands: `cat` prints its stdin, `exit N` prints "out" and "err" and ends with that code."""

import http.server
import json
import socket
import ssl
import struct
import sys
import urllib.parse
import zlib

cert, key, path = sys.argv[1:4]

SYN_STREAM, SYN_REPLY, PING = 1, 2, 6
FIN = 1


class Spdy:
    """SPDY/3.1, as far as a command needs it: the client opens a stream for its status, for its stdin, its
    stdout and its stderr, in this order, so that what it says of them need not be read."""

    def __init__(self, rfile, wfile, query):
        self.rfile, self.wfile = rfile, wfile
        self.command = query.get("command", [])
        self.names = ["status"] + [name for name, asked in (
            ("stdin", "input"), ("stdout", "output"), ("stderr", "error")) if asked in query]
        self.packer = zlib.compressobj()
        self.streams, self.stdin, self.stdin_over = {}, b"", "stdin" not in self.names

    def control(self, kind, payload):
        self.wfile.write(struct.pack(">HHI", 0x8003, kind, len(payload)) + payload)
        self.wfile.flush()

    def read(self, size):
        data = b""
        while len(data) < size:
            piece = self.rfile.read(size - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data

    def frame(self):
        first, second = struct.unpack(">II", self.read(8))
        flags, payload = second >> 24, self.read(second & 0xffffff)
        if not first & 0x80000000:
            if first == self.streams.get("stdin"):
                self.stdin += payload
                self.stdin_over = self.stdin_over or bool(flags & FIN)
        elif first & 0xffff == SYN_STREAM:
            stream = struct.unpack(">I", payload[:4])[0]
            self.streams[self.names[len(self.streams)]] = stream
            none = self.packer.compress(struct.pack(">I", 0)) + self.packer.flush(zlib.Z_SYNC_FLUSH)
            self.control(SYN_REPLY, struct.pack(">I", stream) + none)
        elif first & 0xffff == PING:
            self.control(PING, payload)

    def say(self, name, data):
        if name in self.streams:
            for piece in [data[i:i + 10000] for i in range(0, len(data), 10000)]:
                self.wfile.write(struct.pack(">II", self.streams[name], len(piece)) + piece)
            self.wfile.write(struct.pack(">II", self.streams[name], FIN << 24))
            self.wfile.flush()

    def run(self):
        while len(self.streams) < len(self.names) or not self.stdin_over:
            self.frame()
        status, out, err = {"metadata": {}, "status": "Success"}, self.stdin, b""
        if self.command[:1] == ["exit"]:
            code = self.command[1]
            out, err = b"out", b"err"
            status = {"metadata": {}, "status": "Failure", "reason": "NonZeroExitCode",
                      "message": "command terminated with non-zero exit code",
                      "details": {"causes": [{"reason": "ExitCode", "message": code}]}}
        self.say("stdout", out)
        self.say("stderr", err)
        self.say("status", json.dumps(status).encode())
        try:
            while True:
                self.frame()
        except (EOFError, OSError):
            pass


class Kubelet(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = urllib.parse.parse_qs(url.query)
        since = query.get("sinceTime", [""])[0].rstrip("Z")
        tail = int(query.get("tailLines", ["1000000"])[0])
        with open(path) as file:
            lines = [line for line in file if line[:19] >= since[:19]][-tail:]
        if "timestamps" not in query:
            lines = [line.split(" ", 1)[1] for line in lines]
        found = url.path.startswith("/containerLogs/")
        body = "".join(lines).encode() if found else b"no such path"
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        url = urllib.parse.urlsplit(self.path)
        offered = ",".join(self.headers.get_all("X-Stream-Protocol-Version", [])).split(",")
        if not url.path.startswith("/exec/") or self.headers.get("Upgrade", "").upper() != "SPDY/3.1":
            self.send_error(404)
            return
        self.send_response(101)
        self.send_header("Connection", "Upgrade")
        self.send_header("Upgrade", "SPDY/3.1")
        self.send_header("X-Stream-Protocol-Version", offered[0].strip())
        self.end_headers()
        self.wfile.flush()
        self.close_connection = True
        Spdy(self.rfile, self.wfile, urllib.parse.parse_qs(url.query)).run()
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Kubelet)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(cert, key)
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
