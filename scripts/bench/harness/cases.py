"""The cases: for each, its cells and how one subject is measured in one of them.

A cell is a dictionary: `data` (what the load server has), `work` (what the program is told) and
whatever the measurement needs. A measurement is a dictionary of numbers.
"""

import json
import re
import subprocess
import time
from contextlib import contextmanager

from . import machine, webhook
from .program import Program
from .server import Failure

SYNC_SECONDS = 600


def work(case, kind, count, **more):
    return {"case": case, "kind": kind, "count": count, "workers": 1, "rounds": 1, "tls": False,
            "watch_list": False, **more}


@contextmanager
def running(subject, server, cell, **settings):
    """Starts the subject's program on the server, which has forgotten everything before."""
    server.reset(**subject.settings(), **settings)
    program = Program(subject.command(server, cell["work"]), subject.environment(cell["work"]))
    try:
        yield program
    finally:
        program.stop()


def percentile(values, share):
    """The percentile of sorted values."""
    return values[min(len(values) - 1, max(0, -(-len(values) * share // 100) - 1))]


class Foreign:
    """CPU time that neither the program nor the server used: it disturbs a run."""

    def __init__(self, server, program):
        self.parts = (server, program)
        # The program's CPU time counts from its start, which was before this.
        self.before = machine.busy_seconds() - server.cpu_seconds() - program.cpu_seconds()

    def seconds(self):
        return machine.busy_seconds() - sum(p.cpu_seconds() for p in self.parts) - self.before


# ---- sync, reconciled, scale ----

def measure_floor(server, subject, cell):
    server.reset()
    text = subprocess.run(subject.command(server, cell["work"]), capture_output=True, text=True,
                          check=False)
    if text.returncode != 0:
        raise Failure(text.stderr.strip())
    said = json.loads(text.stdout)
    return {"synced_s": said["seconds"], "cpu_s": said["cpu_seconds"], "received_bytes": said["bytes"]}


def measure_sync(bench, subject, cell):
    server = bench.server(cell["data"])
    if subject.peer == "floor":
        return measure_floor(server, subject, cell)
    with running(subject, server, cell, whole_at_zero=int(bench.whole)) as program:
        foreign = Foreign(server, program)
        done, _ = program.wait_for("all_reconciled", seconds=SYNC_SECONDS)
        cpu, disturbed = program.cpu_seconds(), foreign.seconds()
        synced, _ = program.wait_for("synced", seconds=5)
        bench.calm(server, program)
        if cell["work"]["case"] == "scale":
            bench.settle()
        status = program.status()
        stalls = subject.stalls(program) if cell["work"]["case"] == "scale" else {}
    return {**stalls, "synced_s": synced, "all_reconciled_s": done, "reconciled_to_synced": done / synced,
            "cpu_s": cpu, "rss_bytes": status["rss"], "peak_bytes": status["peak"],
            "rss_bytes_an_object": status["rss"] / cell["work"]["count"], "foreign_cpu_s": disturbed}


def sync_cells(bench):
    n = bench.size(100000, 500)
    for kind in ("pods", "websites"):
        for tls in (False, True):
            for watch_list in (False, True):
                label = f"{kind} {'TLS' if tls else 'plain'} {'WatchList' if watch_list else 'LIST'}"
                yield label, {"data": {kind: n},
                              "work": work("sync", kind, n, tls=tls, watch_list=watch_list)}


def reconciled_cells(bench):
    n = bench.size(100000, 500)
    for kind in ("pods", "websites"):
        yield kind, {"data": {kind: n}, "work": work("sync", kind, n)}


def scale_cells(bench):
    for full, quick in ((10000, 100), (100000, 300), (1000000, 1000)):
        n = bench.size(full, quick)
        yield f"{n} websites", {"data": {"websites": n}, "work": work("scale", "websites", n)}


# ---- memory ----

def resting_bytes(bench, subject, cell):
    """Resident memory of the same program without objects to cache."""
    server = bench.empty_server()
    empty = {**cell, "work": {**cell["work"], "count": 0}}
    with running(subject, server, empty) as program:
        server.wait_for_watch(cell["work"]["kind"], 30)
        bench.settle()
        return program.status()["rss"]


def measure_memory(bench, subject, cell):
    kind, n = cell["work"]["kind"], cell["work"]["count"]
    rest = resting_bytes(bench, subject, cell)
    result = {"resting_bytes": rest}
    server = bench.server(cell["data"])

    def note(name):
        bench.settle()
        result[name + "_rss_bytes"] = program.status()["rss"]
        result[name + "_bytes_an_object"] = (result[name + "_rss_bytes"] - rest) / n

    def emit(seconds, **emission):
        server.emit(seconds, program.is_alive, kind=kind, most_unread=4 << 20, **emission)

    with running(subject, server, cell) as program:
        program.wait_for("all_reconciled", seconds=SYNC_SECONDS)
        server.wait_for_watch(kind, 60)
        note("synced")
        emit(1800, count=n, rate=5000)
        note("updated")
        events = int(bench.minutes * 60 * 500)
        emit(bench.minutes * 60 * 10 + 600, count=events, rate=500)
        note("churned")
        emit(1800, count=n * 9 // 10, delete=1)
        note("deleted")
        result["peak_bytes"] = program.status()["peak"]
    result["deleted_bytes_a_live_object"] = (result["deleted_rss_bytes"] - rest) / (n - n * 9 // 10)
    return result


def memory_cells(bench):
    n = bench.size(100000, 500)
    for kind in ("pods", "websites"):
        yield kind, {"data": {kind: n}, "work": work("memory", kind, n)}


# ---- churn ----

def measure_churn(bench, subject, cell):
    server, n = bench.server(cell["data"]), cell["work"]["count"]
    events = cell["events"]
    with running(subject, server, cell) as program:
        program.wait_for("all_reconciled", seconds=SYNC_SECONDS)
        server.wait_for_watch("websites", 60)
        bench.calm(server, program)
        foreign = Foreign(server, program)
        cpu = program.cpu_seconds()
        server.emit(300, program.is_alive, kind="websites", count=events, sentinel=1)
        state = server.wait("the sentinel's answer",
                            lambda s: s["emission"]["sentinel_answered_ns"] > 0, 300)["emission"]
        cpu, disturbed = program.cpu_seconds() - cpu, foreign.seconds()
        _, said = program.wait_for("sentinel", seconds=10)
        rss = program.status()["rss"]
    took = (state["sentinel_answered_ns"] - state["start_ns"]) / 1e9
    return {"events_a_second": events / took, "cpu_us_an_event": cpu / events * 1e6,
            "reconciles_an_event": said["reconciles"] / events, "rss_bytes": rss,
            "rss_bytes_an_object": rss / n, "foreign_cpu_s": disturbed}


def churn_cells(bench):
    n = bench.size(10000, 200)
    yield "websites, one worker", {"data": {"websites": n}, "events": bench.size(60000, 1000),
                                   "work": work("churn", "websites", n)}


# ---- latency ----

def measure_latency(bench, subject, cell):
    """All rates in one process; the names of the figures contain the rate."""
    server, result = bench.server(cell["data"]), {}
    with running(subject, server, cell, echo=int(bench.echo)) as program:
        program.wait_for("all_reconciled", seconds=SYNC_SECONDS)
        server.wait_for_watch("websites", 60)
        bench.calm(server, program)
        server.emit(120, program.is_alive, kind="websites", count=bench.size(500, 50), rate=500)
        for rate in cell["rates"]:
            bench.calm(server, program)
            foreign, cpu = Foreign(server, program), program.cpu_seconds()
            count = int(rate * cell["seconds"])
            server.emit(120, program.is_alive, kind="websites", count=count, rate=rate)
            wait_for_answers(server, count)
            state = server.ask("state", latencies=1)["emission"]
            values = sorted(state["latencies_ns"])
            if not values:
                raise Failure(f"none of {count} events was answered")
            of = f"{rate}_a_second_"
            for share in (50, 90, 99):
                result[f"{of}p{share}_us"] = percentile(values, share) / 1e3
            result[of + "max_us"] = values[-1] / 1e3
            result[of + "writes_an_event"] = state["writes"] / count
            result[of + "cpu_us_an_event"] = (program.cpu_seconds() - cpu) / count * 1e6
            result[of + "server_late_max_us"] = state["late_max_ns"] / 1e3
            result[of + "foreign_cpu_s"] = foreign.seconds()
    return result


def wait_for_answers(server, count):
    """Waits until all are answered, or no more answers come (a client that merges events answers fewer)."""
    last, since = -1, time.monotonic()
    while time.monotonic() - since < 3:
        answered = server.ask("state")["emission"]["answered"]
        if answered == count:
            return
        if answered != last:
            last, since = answered, time.monotonic()
        time.sleep(0.05)


def latency_cells(bench):
    for full in (10000, 100000):
        n = bench.size(full, 200 if full == 10000 else 400)
        for workers in (1, 10):
            yield f"{n} websites, {workers} worker{'s' if workers > 1 else ''}", {
                "data": {"websites": n}, "rates": (100, 1000, 5000) if not bench.quick else (100, 500),
                "seconds": bench.size(3, 1), "work": work("latency", "websites", n, workers=workers)}


# ---- reconcile, list, queue ----

def measure_reconcile(bench, subject, cell):
    server, n = bench.server(cell["data"]), cell["work"]["count"]
    with running(subject, server, cell) as program:
        foreign = Foreign(server, program)
        done, _ = program.wait_for("all_reconciled", seconds=SYNC_SECONDS)
        first, _ = program.wait_for("first_reconcile", "synced", seconds=5)
        return {"reconciles_a_second": (n - 1) / (done - first), "foreign_cpu_s": foreign.seconds()}


def reconcile_cells(bench):
    n = bench.size(20000, 200)
    yield "websites with 3 pages", {"data": {"websites": n, "children": 3},
                                    "work": work("reconcile", "websites", n)}


def measure_list(bench, subject, cell):
    server, by_name = bench.server(cell["data"]), {}
    with running(subject, server, cell) as program:
        program.wait_for("listed", seconds=SYNC_SECONDS)
        for _, fields in program.milestones:
            seconds = fields.get("seconds", fields.get("cpu_seconds"))
            if seconds is not None:
                by_name.setdefault(fields["milestone"], []).append(seconds / fields["objects"] * 1e6)
    return {name + "_us_an_object": sorted(values)[len(values) // 2] for name, values in by_name.items()}


def list_cells(bench):
    n = bench.size(100000, 500)
    yield "a tenth of the pods", {"data": {"pods": n}, "work": work("list", "pods", n, rounds=5)}


QUEUE_LINES = {
    "add, take, done: one key at a time": "one_ns",
    "add 10,000, then take and done each": "filled_ns",
    "1,000,000 delayed: add": "add_after_ns",
    "one at a time, with 1,000,000 waiting": "beside_delays_ns",
}


def measure_queue(bench, subject, cell):
    if subject.peer != "perilune":
        program = Program([subject.binary(), "--case", "queue"], {})
        try:
            _, fields = program.wait_for("queue", seconds=SYNC_SECONDS)
        finally:
            program.stop()
        return {name: fields[name] for name in QUEUE_LINES.values()}
    text = subprocess.run([bench.tool("bench-queue")], capture_output=True, text=True, check=True).stdout
    result = {}
    for line in text.splitlines():
        found = re.match(r"(.*?)\s+([\d.]+) ns a key$", line)
        if found and found[1] in QUEUE_LINES:
            result[QUEUE_LINES[found[1]]] = float(found[2])
    if len(result) != len(QUEUE_LINES):
        raise Failure("bench-queue prints other lines than expected")
    return result


def queue_cells(_bench):
    yield "string keys", {"data": {}, "work": work("queue", "websites", 0)}


# ---- idle ----

def measure_idle(bench, subject, cell):
    server, seconds = bench.empty_server(), cell["seconds"]
    with running(subject, server, cell) as program:
        state = server.wait_for_watch("websites", 30)
        bench.calm(server, program)
        wakes, cpu = program.wake_ups(), program.cpu_seconds()
        time.sleep(seconds)
        wakes, cpu = program.wake_ups() - wakes, program.cpu_seconds() - cpu
        status = program.status()
    return {"first_request_ms": (state["record"]["first_ns"] - program.start_ns) / 1e6,
            "rss_bytes": status["rss"], "anon_bytes": status["anon"], "threads": status["threads"],
            "wake_ups_a_minute": wakes * 60 / seconds, "cpu_s_a_minute": cpu * 60 / seconds,
            "program_bytes": subject.size()}


def idle_cells(bench):
    yield "one watch over TLS", {"data": {}, "seconds": bench.size(60, 2),
                                 "work": work("idle", "websites", 0, tls=True)}


CASES = {
    "sync": (sync_cells, measure_sync),
    "reconciled": (reconciled_cells, measure_sync),
    "memory": (memory_cells, measure_memory),
    "churn": (churn_cells, measure_churn),
    "latency": (latency_cells, measure_latency),
    "reconcile": (reconcile_cells, measure_reconcile),
    "queue": (queue_cells, measure_queue),
    "list": (list_cells, measure_list),
    "idle": (idle_cells, measure_idle),
    "scale": (scale_cells, measure_sync),
    "webhook": (webhook.cells, webhook.measure),
}
