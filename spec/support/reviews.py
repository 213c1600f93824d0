#!/usr/bin/env python3
"""A client of webhooks for specs: sends one review again and again over kept TLS connections.

    reviews.py load URL FILE RATE CONNECTIONS   until SIGTERM, then prints {"ok":, "failed":, "first":, "answers":}
    reviews.py idle HOST PORT COUNT             opens connections (nine of ten stop in the middle
                                                of its handshake) and holds them until SIGTERM
"""
import http.client
import json
import signal
import socket
import ssl
import sys
import threading
import time
from urllib.parse import urlsplit

stopping = threading.Event()


def context():
    made = ssl.create_default_context()
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    return made


class Load:
    def __init__(self, url, body, rate, connections):
        self.url, self.body = urlsplit(url), body
        self.pause = connections / rate
        self.lock = threading.Lock()
        self.ok, self.failed, self.first, self.answers = 0, 0, None, {}
        self.took = []

    def note(self, failure, answer, took):
        with self.lock:
            self.took.append(took)
            if failure:
                self.failed += 1
                self.first = self.first or failure
            else:
                self.ok += 1
                self.answers[answer] = self.answers.get(answer, 0) + 1

    def one(self, connection):
        path = self.url.path + ("?" + self.url.query if self.url.query else "")
        connection.request("POST", path, self.body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        text = response.read().decode()
        if response.status != 200:
            return "%d %s" % (response.status, text), None
        answer = json.loads(text)["response"]
        return None, (answer.get("auditAnnotations") or {}).get("generation", "none")

    def work(self):
        connection = None
        due = time.monotonic()
        while not stopping.is_set():
            began = time.monotonic()
            try:
                if connection is None:
                    connection = http.client.HTTPSConnection(
                        self.url.hostname, self.url.port, timeout=20, context=context())
                failure, answer = self.one(connection)
            except (OSError, http.client.HTTPException) as e:
                failure, answer, connection = repr(e), None, None
            self.note(failure, answer, time.monotonic() - began)
            due = max(due + self.pause, time.monotonic() - 1)
            stopping.wait(max(0, due - time.monotonic()))

    def report(self):
        took = sorted(self.took) or [0]
        return {"ok": self.ok, "failed": self.failed, "first": self.first, "answers": self.answers,
                "p50": took[len(took) // 2], "p99": took[len(took) * 99 // 100], "max": took[-1]}


def load(url, path, rate, connections):
    with open(path, "rb") as file:
        job = Load(url, file.read(), float(rate), int(connections))
    threads = [threading.Thread(target=job.work) for _ in range(int(connections))]
    for thread in threads:
        thread.start()
    print("begun", file=sys.stderr, flush=True)
    for thread in threads:
        thread.join()
    print(json.dumps(job.report()))


def idle(host, port, count):
    held = []
    for i in range(int(count)):
        raw = socket.create_connection((host, int(port)), timeout=20)
        if i % 10 != 0:
            raw.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01")  # the beginning of a ClientHello
            held.append(raw)
        else:
            held.append(context().wrap_socket(raw))
    print("held %d" % len(held), flush=True)
    stopping.wait()


def main():
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    {"load": load, "idle": idle}[sys.argv[1]](*sys.argv[2:])


main()
