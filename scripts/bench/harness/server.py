"""The load server as a process, and its control port."""

import json
import os
import subprocess
import time
import urllib.parse
import urllib.request

from . import machine


class Failure(Exception):
    """A measurement that failed, and the reason."""


def make_certificate(folder):
    """A self-signed certificate for 127.0.0.1. Not one of a CA, which rustls (kube) does not accept
    from a server."""
    cert, key = os.path.join(folder, "server.crt"), os.path.join(folder, "server.key")
    if not os.path.exists(cert):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-days", "30", "-subj", "/CN=perilune bench", "-addext",
             "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE",
             "-keyout", key, "-out", cert],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return cert, key


class Server:
    """One process; `data` has the numbers of its objects."""

    def __init__(self, binary, folder, data):
        self.data = data
        self.folder = folder
        self.cert, key = make_certificate(folder)
        command = [binary, "--cert", self.cert, "--key", key]
        for name, number in data.items():
            command += ["--" + name, str(number)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise Failure("the load server did not start")
        self.ports = json.loads(line)

    def url(self, tls):
        return f"https://127.0.0.1:{self.ports['tls']}" if tls else f"http://127.0.0.1:{self.ports['plain']}"

    def kubeconfig(self, tls):
        """A file for whoever wants one."""
        path = os.path.join(self.folder, f"kubeconfig-{self.ports['tls' if tls else 'plain']}")
        cluster = {"server": self.url(tls)}
        if tls:
            cluster["certificate-authority"] = self.cert
        with open(path, "w", encoding="utf-8") as file:
            json.dump({
                "apiVersion": "v1", "kind": "Config", "current-context": "bench",
                "clusters": [{"name": "bench", "cluster": cluster}],
                "users": [{"name": "bench", "user": {}}],
                "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
            }, file)
        return path

    def ask(self, path, **query):
        url = f"http://127.0.0.1:{self.ports['control']}/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=60) as answer:
            return json.load(answer)

    def reset(self, **settings):
        self.ask("reset")
        self.ask("settings", **{"echo": 0, "whole_at_zero": 0, "watch_list": 1, **settings})

    def wait(self, what, condition, seconds):
        """Reads the state until the condition holds."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            state = self.ask("state")
            if condition(state):
                return state
            time.sleep(0.05)
        raise Failure(f"{what}: not within {seconds:g} s")

    def wait_for_watch(self, kind, seconds):
        return self.wait(f"a watch of {kind}", lambda s: s["kinds"][kind]["unread"] >= 0, seconds)

    def emit(self, seconds, alive, **emission):
        """Sends events and waits until the last one has been read, while alive() is true."""
        self.ask("emit", **emission)
        # A request during the events would disturb the measurement.
        end = time.monotonic() + (emission["count"] / emission["rate"] if emission.get("rate") else 0)
        while time.monotonic() < end and alive():
            time.sleep(min(1, max(0, end - time.monotonic())))

        def is_done(state):
            if not alive():
                raise Failure("the program ended while events were sent")
            return not state["emission"]["running"] and state["kinds"][emission["kind"]]["unread"] <= 0

        self.wait("the end of the events", is_done, seconds)
        return self.ask("state", latencies=1)["emission"]

    def cpu_seconds(self):
        return machine.cpu_seconds(self.process.pid)

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        for port in self.ports.values():
            try:
                os.remove(os.path.join(self.folder, f"kubeconfig-{port}"))
            except FileNotFoundError:
                pass
