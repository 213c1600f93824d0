"""Kills the embedded API server with SIGKILL while clients write, again and again. Each time it checks
that the server that starts with the same folder has every answered write.

    killed.py PERILUNE ROUNDS [SEED]

Four writers create, change and delete ConfigMaps and record the acknowledged writes. After each
kill, every object must be in its last acknowledged state (or in the state after the one write that
was under way), versions must be higher than all before, and a watch from a version of the round
before must deliver every acknowledged write since, in order. Prints a line for each lost write, and
exits with 1 then.
"""

import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time

PATH = "/api/v1/namespaces/default/configmaps"
PATIENCE = float(os.environ.get("PL_PATIENCE", "30"))


class Server:
    def __init__(self, program, folder):
        self.process = subprocess.Popen(
            [program, "apiserver", "--insecure", "--data-dir", folder],
            stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if "serving on" not in line:
            raise SystemExit(f"the server did not start: {line!r}, status {self.process.wait()}")
        self.port = int(line.rsplit(":", 1)[1])

    def request(self, method, path, body=None, form="application/json", connection=None):
        connection = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request(method, path, json.dumps(body) if body is not None else None,
                           {"Content-Type": form, "User-Agent": "killed/1"})
        answer = connection.getresponse()
        return answer.status, answer.read()

    def kill(self):
        self.process.kill()
        self.process.wait()


class Writer(threading.Thread):
    """Only this writer uses its names, so it knows their whole history."""

    def __init__(self, server, names, states, seed):
        super().__init__()
        self.server, self.names, self.states = server, names, states
        self.random = random.Random(seed)
        self.acknowledged = []  # (version, name, value or None)
        self.wrong = []

    def write(self, connection, name):
        old = self.states[name][0]
        new = None if old and self.random.random() < 0.3 else str(self.random.random())
        self.states[name] = (old, new, True)
        if old is None:
            body = {"metadata": {"name": name}, "data": {"v": new}}
            status, text = self.server.request("POST", PATH, body, connection=connection)
        elif new is None:
            status, text = self.server.request("DELETE", f"{PATH}/{name}", connection=connection)
        else:
            status, text = self.server.request("PATCH", f"{PATH}/{name}", {"data": {"v": new}},
                                               "application/merge-patch+json", connection)
        if status not in (200, 201):
            self.wrong.append(f"{name}: {status} {text[:200]}")
            return
        self.states[name] = (new, new, False)
        if new is not None:
            self.acknowledged.append((int(json.loads(text)["metadata"]["resourceVersion"]), name, new))

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE)
        try:
            while not self.wrong:
                self.write(connection, self.random.choice(self.names))
        except (OSError, http.client.HTTPException, ValueError):
            pass  # killed: the state says that a write was under way


def check_objects(server, states):
    items = json.loads(server.request("GET", PATH)[1])["items"]
    have = {item["metadata"]["name"]: item["data"]["v"] for item in items}
    lost = []
    for name, (acknowledged, wanted, under_way) in list(states.items()):
        value = have.get(name)
        if value != acknowledged and not (under_way and value == wanted):
            lost.append(f"{name} is {value}, acknowledged was {acknowledged}, under way {wanted}")
        states[name] = (value, value, False)
    return lost


def watch(server, version, until):
    """The events after a version, up to the wanted version; waits for some seconds at most."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    connection.request("GET", f"{PATH}?watch=true&resourceVersion={version}&timeoutSeconds=5")
    answer = connection.getresponse()
    if answer.status != 200:
        raise SystemExit(f"the watch from {version}: {answer.status} {answer.read()[:200]}")
    last = version
    while last < until:
        line = answer.readline()
        if not line:
            break
        event = json.loads(line)
        last = int(event["object"].get("metadata", {}).get("resourceVersion", 0))
        yield event
    connection.close()


def check_watch(server, version, acknowledged):
    told = {}
    last = version
    lost = []
    until = int(json.loads(server.request("GET", PATH)[1])["metadata"]["resourceVersion"])
    for event in watch(server, version, until):
        meta = event["object"].get("metadata", {})
        rv = int(meta.get("resourceVersion", 0))
        if event["type"] not in ("ADDED", "MODIFIED", "DELETED") or rv <= last:
            lost.append(f"the watch from {version} tells {json.dumps(event)[:200]} after {last}")
        last = max(last, rv)
        told[rv] = (meta.get("name"), event["object"].get("data", {}).get("v"))
    lost += [f"the watch from {version} does not tell {name}={value} at {rv}"
             for rv, name, value in acknowledged if told.get(rv) != (name, value)]
    return lost


def main():
    program, rounds = sys.argv[1], int(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
    print(f"seed {seed}")
    chance = random.Random(seed)
    states = {f"c{i}": (None, None, False) for i in range(40)}
    writes = 0
    with tempfile.TemporaryDirectory(prefix="perilune-killed-") as folder:
        folder = os.path.join(folder, "data")
        version = 0
        for number in range(rounds):
            server = Server(program, folder)
            lost = check_objects(server, states)
            before = int(json.loads(server.request("GET", PATH)[1])["metadata"]["resourceVersion"])
            if before < version:
                lost.append(f"versions went back from {version} to {before}")
            names = sorted(states)
            writers = [Writer(server, names[i::4], states, chance.random()) for i in range(4)]
            for writer in writers:
                writer.start()
            time.sleep(chance.uniform(0.02, 0.25))
            server.kill()
            for writer in writers:
                writer.join()
                lost += writer.wrong
            acknowledged = [one for writer in writers for one in writer.acknowledged]
            writes += len(acknowledged)
            version = max([before] + [rv for rv, _, _ in acknowledged])
            server = Server(program, folder)
            lost += check_watch(server, before, acknowledged)
            server.kill()
            if lost:
                print(f"round {number}:", *lost[:20], sep="\n  ")
                return 1
    print(f"{rounds} kills, {writes} acknowledged writes, none lost")
    return 0 if writes > rounds else 1


if __name__ == "__main__":
    sys.exit(main())
