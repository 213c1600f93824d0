"""An HTTP/2 server that misbehaves on purpose, for specs.

    h2peer.py URL CERT KEY CONTROL [--ca FILE]

A proxy in front of an API server: HTTP/2 over TLS to the client, with its own code for frames,
and HTTP/1.1 to URL. Prints its port. CONTROL is a file with the name of the current misbehaviour
("" or no file: none); it is read often. CONTROL.count has the counts, one line "NAME N" for each
misbehaviour, and "connections N", "requests N".

The misbehaviours, on each connection while CONTROL names them:

    goaway           ends each connection in order: GOAWAY, and no new stream is taken
    goaway_rude      says GOAWAY for stream 0 and an error as soon as a request comes, again and again
    rst              resets each new stream: REFUSED_STREAM and INTERNAL_ERROR in turns
    rst_old          RST_STREAM for streams that have ended or never existed
    settings         endless SETTINGS
    ping             endless PING; answers are not read
    headers          a header block that never ends: endless CONTINUATION
    empty_headers    the same with empty frames
    informational    many 103 responses before each answer
    long_header      headers of a few hundred KiB before each answer
    empty_data       empty DATA frames after the first one of each answer
    endless          bodies that never end: spaces after spaces
    window_zero      no byte of a body may be sent: INITIAL_WINDOW_SIZE 0
    window_over      WINDOW_UPDATE until the window overflows
    unknown          frames of unknown types
    priority         endless PRIORITY
    push             PUSH_PROMISE, which the client has forbidden
    garbage          bytes that are not a frame
    silent           accepts everything and answers nothing
"""

import argparse
import ctypes
import ctypes.util
import http.client
import os
import random
import select
import socket
import ssl
import struct
import sys
import threading
import time
import urllib.parse

DATA, HEADERS, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 3, 4, 5, 6, 7, 8, 9
END_STREAM, ACK, END_HEADERS, PADDED, PRIORITY = 1, 1, 4, 8, 32
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
PIECE = 16000

# ---- header blocks: read by nghttp2's decoder, written as literals ----

nghttp2 = ctypes.CDLL(ctypes.util.find_library("nghttp2") or "libnghttp2.so.14")


class Pair(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.POINTER(ctypes.c_ubyte)),
        ("value", ctypes.POINTER(ctypes.c_ubyte)),
        ("name_len", ctypes.c_size_t),
        ("value_len", ctypes.c_size_t),
        ("flags", ctypes.c_uint8),
    ]


nghttp2.nghttp2_hd_inflate_hd2.restype = ctypes.c_ssize_t


class Decoder:
    def __init__(self):
        self.inflater = ctypes.c_void_p()
        if nghttp2.nghttp2_hd_inflate_new(ctypes.byref(self.inflater)) != 0:
            raise MemoryError

    def decode(self, block):
        out, pair, flags = {}, Pair(), ctypes.c_int()
        while True:
            used = nghttp2.nghttp2_hd_inflate_hd2(
                self.inflater,
                ctypes.byref(pair),
                ctypes.byref(flags),
                block,
                ctypes.c_size_t(len(block)),
                1,
            )
            if used < 0:
                raise ConnectionError("a header block that cannot be read")
            block = block[used:]
            if flags.value & 2:
                name = ctypes.string_at(pair.name, pair.name_len)
                out[name.decode()] = ctypes.string_at(pair.value, pair.value_len).decode("latin-1")
            if flags.value & 1:
                nghttp2.nghttp2_hd_inflate_end_headers(self.inflater)
                return out


def number(value, prefix):
    most = (1 << prefix) - 1
    if value < most:
        return bytes([value])
    out, value = bytearray([most]), value - most
    while value >= 128:
        out.append(value % 128 + 128)
        value //= 128
    out.append(value)
    return bytes(out)


def literal(name, value):
    name, value = name.encode(), value.encode("latin-1")
    return b"\0" + number(len(name), 7) + name + number(len(value), 7) + value


# ---- the server behind ----


class Backend:
    def __init__(self, url, ca):
        parts = urllib.parse.urlsplit(url)
        self.address = (parts.hostname, parts.port)
        self.context = ssl.create_default_context(cafile=ca) if parts.scheme == "https" else None

    def ask(self, headers, body):
        if self.context:
            link = http.client.HTTPSConnection(*self.address, context=self.context)
        else:
            link = http.client.HTTPConnection(*self.address)
        kept = {k: v for k, v in headers.items() if k[0] != ":" and k != "content-length"}
        link.request(headers[":method"], headers[":path"], body or None, kept)
        return link, link.getresponse()


# ---- one connection ----


class Stream:
    def __init__(self):
        self.headers, self.body, self.window, self.over = None, b"", 65535, False


class Connection:
    def __init__(self, peer, sock):
        self.peer, self.sock = peer, sock
        self.writing, self.io = threading.Lock(), threading.Lock()  # a frame; one call of TLS
        self.state = threading.Condition()
        self.streams, self.window, self.initial = {}, 65535, 65535
        self.decoder, self.open, self.ending, self.turn = Decoder(), True, False, 0
        self.last, self.room = 0, 65535

    # writing

    def frame(self, kind, flags, stream, payload=b"", times=1):
        head = struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream)
        self.raw((head + payload) * times)

    def patiently(self, act):
        """Calls act, and repeats it while TLS must read or write first."""
        while True:
            if not self.open:
                raise ConnectionError("closed")
            try:
                with self.io:
                    return act()
            except ssl.SSLWantReadError:
                select.select([self.sock], [], [], 0.5)
            except ssl.SSLWantWriteError:
                select.select([], [self.sock], [], 0.5)

    def raw(self, data):
        with self.writing:
            while data:
                data = data[self.patiently(lambda: self.sock.send(data)) :]

    def close(self):
        with self.state:
            self.open = False
            self.state.notify_all()
        try:
            socket.socket.shutdown(self.sock, socket.SHUT_RDWR)
        except OSError:
            pass

    # reading

    def exactly(self, count):
        out = b""
        while len(out) < count:
            piece = self.patiently(lambda: self.sock.recv(count - len(out)))
            if not piece:
                raise ConnectionError("the client left")
            out += piece
        return out

    def serve(self):
        try:
            if self.exactly(len(PREFACE)) != PREFACE:
                raise ConnectionError("no HTTP/2")
            self.frame(SETTINGS, 0, 0, struct.pack(">HI", 3, 200))
            self.limit()
            self.frame(WINDOW, 0, 0, struct.pack(">I", 1 << 24))
            threading.Thread(target=self.pester, daemon=True).start()
            while self.open:
                self.take()
        except (OSError, ConnectionError, struct.error):
            pass
        finally:
            self.close()

    def take(self):
        head = self.exactly(9)
        length, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
        stream = int.from_bytes(head[5:], "big") & 0x7FFFFFFF
        payload = self.exactly(length)
        if kind == SETTINGS and not flags & ACK:
            self.settings(payload)
            self.frame(SETTINGS, ACK, 0)
        elif kind == PING and not flags & ACK:
            if self.peer.mode() not in ("silent", "ping"):
                self.frame(PING, ACK, 0, payload)
        elif kind == WINDOW:
            with self.state:
                more = int.from_bytes(payload, "big") & 0x7FFFFFFF
                if stream == 0:
                    self.window += more
                elif stream in self.streams:
                    self.streams[stream].window += more
                self.state.notify_all()
        elif kind == HEADERS:
            self.headers(stream, flags, payload)
        elif kind == DATA:
            self.data(stream, flags, payload)
        elif kind == RST:
            with self.state:
                if stream in self.streams:
                    self.streams.pop(stream).over = True
                self.state.notify_all()
        elif kind == GOAWAY:
            raise ConnectionError("the client says goodbye")

    def settings(self, payload):
        for at in range(0, len(payload), 6):
            name, value = struct.unpack(">HI", payload[at : at + 6])
            if name == 4:
                with self.state:
                    for one in self.streams.values():
                        one.window += value - self.initial
                    self.initial = value

    def headers(self, number_, flags, payload):
        if flags & PADDED:
            payload = payload[1 : len(payload) - payload[0]]
        if flags & PRIORITY:
            payload = payload[5:]
        while not flags & END_HEADERS:
            head = self.exactly(9)
            flags |= head[4] & END_HEADERS
            payload += self.exactly(int.from_bytes(head[:3], "big"))
        one = Stream()
        one.headers, one.window = self.decoder.decode(payload), self.initial
        self.last = number_
        with self.state:
            self.streams[number_] = one
        self.peer.note("requests")
        if flags & END_STREAM:
            self.begin(number_, one)

    def data(self, number_, flags, payload):
        with self.state:
            one = self.streams.get(number_)
        if flags & PADDED:
            payload = payload[1 : len(payload) - payload[0]]
        if payload:
            self.frame(WINDOW, 0, 0, struct.pack(">I", len(payload)))
        if one is None:
            return
        one.body += payload
        if payload and not flags & END_STREAM:
            self.frame(WINDOW, 0, number_, struct.pack(">I", len(payload)))
        if flags & END_STREAM:
            self.begin(number_, one)

    # answering

    def begin(self, number_, one):
        threading.Thread(target=self.answer, args=(number_, one), daemon=True).start()

    def answer(self, number_, one):
        try:
            mode = self.peer.mode()
            if not self.disturb(mode, number_):
                link, answer = self.peer.backend.ask(one.headers, one.body)
                try:
                    self.pass_on(mode, number_, one, answer)
                finally:
                    link.close()
        except (OSError, ConnectionError, http.client.HTTPException):
            self.close()
        with self.state:
            self.streams.pop(number_, None)

    def disturb(self, mode, number_):
        """Called before the server is asked. True: the server is not asked."""
        if mode == "silent":
            return True
        if mode == "rst":
            self.turn += 1
            self.count_and(mode, RST, 0, number_, struct.pack(">I", 7 if self.turn % 2 else 2))
            return True
        if mode == "goaway_rude":
            for _ in range(20):
                self.count_and(mode, GOAWAY, 0, 0, struct.pack(">II", 0, 11) + b"calm down")
            self.close()
            return True
        if mode == "goaway" and not self.ending:
            self.ending = True
            self.count_and(mode, GOAWAY, 0, 0, struct.pack(">II", self.last, 0))
        if mode in ("headers", "empty_headers"):
            self.frame(HEADERS, 0, number_, literal(":status", "200"))
            while self.peer.mode() == mode and mode == "headers":
                self.count_and(mode, CONTINUATION, 0, number_, literal("x-more", "y" * 8000))
            while self.peer.mode() == mode:
                self.many(mode, CONTINUATION, 0, number_)
            self.close()
            return True
        return False

    def pass_on(self, mode, number_, one, answer):
        while mode == "informational" and self.peer.mode() == mode:
            self.count_and(mode, HEADERS, END_HEADERS, number_, literal(":status", "103"))
        block = literal(":status", str(answer.status))
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                block += literal(name.lower(), value)
        if mode == "long_header":
            self.peer.note(mode)
            for i in range(40):
                block += literal("x-%d" % i, "y" * 8000)
        self.frame(HEADERS, END_HEADERS if len(block) < PIECE else 0, number_, block[:PIECE])
        for at in range(PIECE, len(block), PIECE):
            last = at + PIECE >= len(block)
            self.frame(CONTINUATION, END_HEADERS if last else 0, number_, block[at : at + PIECE])
        while mode == "empty_data" and self.peer.mode() == mode:
            self.many(mode, DATA, 0, number_)
        while True:
            piece = answer.read1(PIECE)
            if not piece:
                break
            if mode == "endless" and piece.endswith((b"}", b"}\n")):
                piece = piece.rstrip(b"\n")[:-1]
            if not self.send(number_, one, piece):
                return
        while mode == "endless" and self.peer.mode() == mode:
            self.peer.note(mode)
            if not self.send(number_, one, b" " * PIECE):
                return
        self.frame(DATA, END_STREAM, number_)

    def send(self, number_, one, data):
        while data:
            with self.state:
                while self.open and not one.over and min(self.window, one.window) <= 0:
                    self.state.wait(1)
                if not self.open or one.over:
                    return False
                count = min(len(data), self.window, one.window)
                self.window -= count
                one.window -= count
            self.frame(DATA, 0, number_, data[:count])
            data = data[count:]
        return True

    # what nobody asked for

    def count_and(self, mode, *frame):
        self.peer.note(mode)
        self.frame(*frame)

    def many(self, mode, *frame):
        self.peer.note(mode)
        self.frame(*frame, times=500)

    def limit(self):
        """How much of each body the client may send from now on."""
        room = 0 if self.peer.mode() == "window_zero" else 65535
        if room != self.room:
            self.room = room
            self.count_and("window_zero", SETTINGS, 0, 0, struct.pack(">HI", 4, room))

    def pester(self):
        floods = {
            "settings": lambda: self.many("settings", SETTINGS, 0, 0, struct.pack(">HI", 3, 200)),
            "ping": lambda: self.many("ping", PING, 0, 0, os.urandom(8)),
            "rst_old": lambda: self.count_and(
                "rst_old", RST, 0, random.choice([1, self.last or 1, self.last + 200]), b"\0\0\0\x08"
            ),
            "window_over": lambda: self.count_and(
                "window_over", WINDOW, 0, random.choice([0, self.last]), struct.pack(">I", 0x7FFFFFFF)
            ),
            "unknown": lambda: self.count_and("unknown", 0xBE, 255, 0, b"z" * 16000),
            "priority": lambda: self.many("priority", 2, 0, 1, b"\0\0\0\0\x10"),
            "push": lambda: self.count_and(
                "push", PUSH, END_HEADERS, self.last or 1, b"\0\0\0\x02" + literal(":method", "GET")
            ),
            "garbage": lambda: (self.peer.note("garbage"), self.raw(os.urandom(4000))),
        }
        try:
            while self.open:
                mode = self.peer.mode()
                self.limit()
                if mode in floods:
                    floods[mode]()
                else:
                    if mode == "" and self.ending and not self.streams:
                        self.close()
                    time.sleep(0.01)
        except (OSError, ConnectionError):
            self.close()


# ---- all of them ----


class Peer:
    def __init__(self, backend, control):
        self.backend, self.control = backend, control
        self.now, self.looked = "", 0.0
        self.counts, self.lock = {}, threading.Lock()

    def mode(self):
        now = time.monotonic()
        if now - self.looked > 0.02:
            self.looked = now
            try:
                with open(self.control) as file:
                    self.now = file.read().strip()
            except OSError:
                self.now = ""
        return self.now

    def note(self, what):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + 1

    def tell(self):
        while True:
            with self.lock:
                text = "".join("%s %d\n" % one for one in sorted(self.counts.items()))
            with open(self.control + ".count.new", "w") as file:
                file.write(text)
            os.rename(self.control + ".count.new", self.control + ".count")
            time.sleep(0.1)

    def handle(self, context, raw):
        raw.settimeout(60)
        try:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock = context.wrap_socket(raw, server_side=True)
        except (OSError, ssl.SSLError):
            return
        sock.setblocking(False)
        self.note("connections")
        Connection(self, sock).serve()


def main():
    parser = argparse.ArgumentParser()
    for name in ("url", "cert", "key", "control"):
        parser.add_argument(name)
    parser.add_argument("--ca")
    given = parser.parse_args()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(given.cert, given.key)
    context.set_alpn_protocols(["h2"])
    peer = Peer(Backend(given.url, given.ca), given.control)
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    print(listener.getsockname()[1], flush=True)
    threading.Thread(target=peer.tell, daemon=True).start()
    while True:
        raw, _ = listener.accept()
        threading.Thread(target=peer.handle, args=(context, raw), daemon=True).start()


if __name__ == "__main__":
    sys.setswitchinterval(0.002)
    main()
