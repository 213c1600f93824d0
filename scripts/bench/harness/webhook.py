"""The webhook case: sends one review again and again over kept TLS connections, to one server after the other."""

import json
import os
import shutil
import subprocess
import threading
import time

from .ports import held_port
from .program import Program
from .server import Failure

CONNECTIONS = 16
SITE = {
    "apiVersion": "example.com/v1", "kind": "Website",
    "metadata": {"name": "blog", "namespace": "default", "labels": {"app": "blog", "team": "web"},
                 "annotations": {"example.com/contact": "web@example.com", "example.com/note": "n" * 200}},
    "spec": {"revision": 7, "domain": "blog.example.com", "image": "registry.example.com/site:1.27.3",
             "resources": {"limits": {"cpu": "500m", "memory": "256Mi"},
                           "requests": {"cpu": "100m", "memory": "64Mi"}},
             "tls": {"enabled": True, "issuer": "letsencrypt"}},
    "status": {"observedRevision": 7, "observedGeneration": 3, "readyReplicas": 2,
               "url": "https://blog.example.com"},
}


def review():
    kind = {"group": "example.com", "version": "v1", "kind": "Website"}
    resource = {"group": "example.com", "version": "v1", "resource": "websites"}
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
        "uid": "11111111-2222-3333-4444-555555555555", "kind": kind, "resource": resource,
        "requestKind": kind, "requestResource": resource, "name": "blog", "namespace": "default",
        "operation": "CREATE", "userInfo": {"username": "jo", "groups": ["system:authenticated"]},
        "object": SITE, "oldObject": None, "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"}}}


def certificates(bench, server):
    """A folder with the certificate and key of the load server, under the names that all subjects expect."""
    folder = os.path.join(bench.out, "webhook-certs")
    os.makedirs(folder, exist_ok=True)
    shutil.copy(server.cert, os.path.join(folder, "tls.crt"))
    shutil.copy(server.cert.removesuffix(".crt") + ".key", os.path.join(folder, "tls.key"))
    return folder


# With a processor each, the client takes no time from the server.
def on_processor(cell, number, command):
    return ["taskset", "-c", str(number), *command] if cell["apart"] else command


def ask(bench, cell, *words):
    command = on_processor(cell, 1, [bench.tool("bench-load-webhook"), *words])
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(done.stderr.strip())
    return json.loads(done.stdout)


def load(bench, cell, program, port, path, body, seconds):
    cpu = program.cpu_seconds()
    said = ask(bench, cell, "load", str(port), path, body, str(CONNECTIONS), str(seconds))
    if said["failed"] > 0 or said["requests"] == 0:
        raise Failure(f"{said['failed']} requests of {said['requests']} failed: {program.last_words()}")
    # The CPU time of the warm-up is included: a fifth more.
    said["cpu_us"] = (program.cpu_seconds() - cpu) / (said["requests"] * 1.2) * 1e6
    return said


class Saver(threading.Thread):
    """Saves the script four times a second, each time with a changed text."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path, self.over, self.count = path, threading.Event(), 0
        with open(path, encoding="utf-8") as file:
            self.text = file.read()

    def run(self):
        while not self.over.wait(0.25):
            self.count += 1
            with open(self.path, "w", encoding="utf-8") as file:
                file.write(f"{self.text}-- {self.count}\n")

    def stop(self):
        self.over.set()
        self.join()


def measure(bench, subject, cell):
    server, port = bench.empty_server(), held_port()
    body = os.path.join(bench.out, "review.json")
    with open(body, "w", encoding="utf-8") as file:
        json.dump(review(), file, separators=(",", ":"))
    server.reset(**subject.settings())
    work = {**cell["work"], "port": port, "cert_dir": certificates(bench, server)}
    path = subject.webhook_path(cell["sort"])
    seconds = bench.size(8, 0.5)
    program = Program(on_processor(cell, 0, subject.command(server, work)), subject.environment(work))
    try:
        at = ask(bench, cell, "first", str(port), path, body)["answered_ns"]
        time.sleep(bench.size(1, 0.1))
        said = load(bench, cell, program, port, path, body, seconds)
        result = {"first_request_ms": (at - program.start_ns) / 1e6,
                  "requests_a_second": said["requests"] / seconds, "p50_us": said["p50_us"],
                  "p99_us": said["p99_us"], "max_us": said["max_us"],
                  "cpu_us_a_request": said["cpu_us"], "rss_bytes": program.status()["rss"]}
        script = subject.webhook_script(work)
        if script:
            saver = Saver(script)
            saver.start()
            try:
                said = load(bench, cell, program, port, path, body, seconds)
            finally:
                saver.stop()
            result.update({"saved_a_second": said["requests"] / seconds, "saved_p50_us": said["p50_us"],
                           "saved_p99_us": said["p99_us"], "saves": saver.count})
        return result
    finally:
        program.stop()


def cells(_bench):
    for sort in ("validate", "mutate"):
        for apart in (False, True) if (os.cpu_count() or 1) > 1 else (False,):
            name = f"{sort}, {CONNECTIONS} connections" + (", a processor each" if apart else "")
            yield name, {"sort": sort, "apart": apart, "data": {}, "work": {
                "case": "webhook", "kind": "websites", "count": 0, "workers": 1, "rounds": 1, "tls": False,
                "watch_list": False}}
