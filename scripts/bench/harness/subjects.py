"""The measured programs: how each is built and started, and its cases."""

import os
import shutil
import subprocess
import sys
import urllib.request

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(os.path.dirname(HERE))


class Unavailable(Exception):
    """It cannot be built here; with the reason."""


def run_quietly(command, what, log, **options):
    with open(log, "a", encoding="utf-8") as out:
        done = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False, **options)
    if done.returncode != 0:
        with open(log, encoding="utf-8", errors="replace") as file:
            tail = "".join(file.readlines()[-12:])
        raise Unavailable(f"{what} failed (all of it is in {log}):\n{tail}")


class Subject:
    """One peer in one variant. `kinds` and `cases`: the supported ones."""

    peer = None
    variants = ()
    cases = ()

    def __init__(self, variant, build, out):
        self.variant = variant
        self.build_folder = build
        self.folder = out
        self.name = f"{self.peer}:{variant}" if variant else self.peer

    def can(self, case, kind):
        return case in self.cases and kind in ("pods", "websites")

    def prepare(self):
        """Builds it; raises Unavailable if that is not possible."""

    def version(self):
        return ""

    def environment(self, _work):
        return {}

    def settings(self):
        """Settings of the load server that this subject needs."""
        return {}

    def log_path(self):
        os.makedirs(self.folder, exist_ok=True)
        return os.path.join(self.folder, f"build-{self.peer}.log")

    def command(self, _server, _work):
        raise NotImplementedError

    def stalls(self, _program):
        """Figures about delays that the subject itself reports."""
        return {}

    def webhook_path(self, sort):
        return f"/{sort}-example-com-v1-website"

    def webhook_script(self, _work):
        """The file that a save replaces while it serves; None: it must be restarted."""

    def size(self):
        """The size of the deployed program in bytes."""
        return os.path.getsize(self.binary())

    def binary(self):
        return os.path.join(self.folder, "peers", self.peer)


class Perilune(Subject):
    peer = "perilune"
    variants = ("", "metadata", "jit")
    cases = ("sync", "churn", "latency", "reconcile", "list", "idle", "memory", "scale", "queue", "webhook")
    only = {"metadata": ("sync", "memory", "scale"), "jit": ("churn", "reconcile", "list", "webhook")}

    def can(self, case, kind):
        return super().can(case, kind) and case in self.only.get(self.variant, self.cases)

    def binary(self):
        return os.path.join(self.build_folder, "perilune")

    def version(self):
        text = subprocess.run([self.binary(), "version"], capture_output=True, text=True, check=False)
        return text.stdout.splitlines()[0] if text.stdout else ""

    def command(self, server, work):
        config = os.path.join(self.folder, "config.yaml")
        with open(config, "w", encoding="utf-8") as file:
            for name in ("kind", "count", "workers", "rounds"):
                file.write(f"{name}: {work[name]}\n")
            if self.variant == "metadata":
                file.write("metadata: true\n")
        if work["case"] == "webhook":
            return self.webhook_command(server, work)
        script = work["case"] if work["case"] in ("churn", "latency", "reconcile", "list") else "sync"
        command = [self.binary(), "run", os.path.join(HERE, "cases", script + ".lua"),
                   "--kubeconfig", server.kubeconfig(work["tls"]), "--config", config,
                   "--log-format", "json",
                   "--metrics-bind-address", "127.0.0.1:0" if work["case"] == "scale" else "0",
                   "--health-probe-bind-address", "0", "--admin-socket", "0"]
        if work["watch_list"]:
            command.append("--watch-list")
        if self.variant == "jit":
            command.append("--jit")
        return command

    def webhook_script(self, work):
        return os.path.join(self.folder, f"webhook{work['port']}.lua")

    def webhook_command(self, server, work):
        script = self.webhook_script(work)
        shutil.copy(os.path.join(HERE, "cases", "webhook.lua"), script)
        return [self.binary(), "run", script, "--kubeconfig", server.kubeconfig(False), "--log-format", "json",
                "--metrics-bind-address", "0", "--health-probe-bind-address", "0", "--admin-socket", "0",
                "--webhook-bind-address", f"127.0.0.1:{work['port']}", "--webhook-cert-dir", work["cert_dir"],
                "--no-webhook-register"] + (["--jit"] if self.variant == "jit" else [])

    def stalls(self, program):
        """Long turns of the I/O thread, which delay everything else."""
        address = program.logged("serving metrics")["address"]
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as answer:
            page = answer.read().decode("utf-8")
        turns = {line.partition(" ")[0]: float(line.rpartition(" ")[2]) for line in page.splitlines()
                 if line.startswith("perilune_loop_turn_seconds")}
        name = "perilune_loop_turn_seconds"
        return {f"turns_over_{ms}_ms": turns[name + "_count"] - turns[f'{name}_bucket{{le="{ms / 1000}"}}']
                for ms in (20, 50)}


def flags(server, work, variant):
    """The flags that all peers have."""
    # These cases cache and read like sync.
    case = "sync" if work["case"] in ("memory", "idle", "scale") else work["case"]
    command = ["--server", server.url(work["tls"]), "--case", case, "--kind", work["kind"],
               "--variant", variant, "--workers", str(work["workers"]), "--count", str(work["count"])]
    if work["tls"]:
        command += ["--ca", server.cert]
    if case == "webhook":
        command += ["--port", str(work["port"]), "--cert-dir", work["cert_dir"]]
    return command


class Go(Subject):
    def settings(self):
        return {"protobuf": 1} if self.variant == "protobuf" else {}

    def can(self, case, kind):
        if self.variant == "metadata" and case not in ("sync", "memory", "scale"):
            return False
        # Custom resources are always JSON.
        if self.variant == "protobuf" and (kind != "pods" or case not in ("sync", "memory")):
            return False
        return super().can(case, kind)

    def prepare(self):
        if not shutil.which("go"):
            raise Unavailable("Go is missing: install Go 1.26 or later")
        run_quietly(["go", "build", "-trimpath", "-ldflags", "-s -w", "-o", self.binary(), "."],
                    "go build", self.log_path(), cwd=os.path.join(HERE, "peers", self.peer),
                    env={**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly -buildvcs=false"})

    def module(self):
        raise NotImplementedError

    def version(self):
        with open(os.path.join(HERE, "peers", self.peer, "go.mod"), encoding="utf-8") as file:
            for line in file:
                if line.split()[:1] == [self.module()]:
                    return line.split()[1]
        return ""

    def environment(self, work):
        return {"KUBE_FEATURE_WatchListClient": "true" if work["watch_list"] else "false"}

    def command(self, server, work):
        command = [self.binary()] + flags(server, work, self.variant)
        return command + (["--rounds", str(work["rounds"])] if work["case"] == "list" else [])


class ClientGo(Go):
    peer = "client-go"
    variants = ("typed", "protobuf", "unstructured", "metadata")
    cases = ("sync", "churn", "latency", "idle", "memory", "scale", "queue")

    def module(self):
        return "k8s.io/client-go"

    def can(self, case, kind):
        if case == "queue":
            return self.variant == "unstructured"
        return super().can(case, kind) and (self.variant != "typed" or kind == "pods")


class ControllerRuntime(Go):
    peer = "controller-runtime"
    variants = ("typed", "protobuf", "unstructured", "metadata")
    cases = ("sync", "churn", "latency", "reconcile", "list", "idle", "memory", "scale", "queue", "webhook")

    def module(self):
        return "sigs.k8s.io/controller-runtime"

    def can(self, case, kind):
        return super().can(case, kind) and (
            self.variant == "typed" or case not in ("queue", "reconcile", "list", "webhook"))


class Kube(Subject):
    peer = "kube"
    variants = ("typed", "dynamic")
    cases = ("sync", "churn", "latency", "idle", "memory", "scale", "list")

    def can(self, case, kind):
        return super().can(case, kind) and (self.variant == "typed" or case != "list")

    def prepare(self):
        if not shutil.which("cargo"):
            raise Unavailable("Rust is missing: install cargo and rustc 1.85 or later")
        target = os.path.join(self.folder, "peers", "kube-target")
        run_quietly(["cargo", "build", "--release", "--locked", "--target-dir", target],
                    "cargo build", self.log_path(), cwd=os.path.join(HERE, "peers", "kube"))

    def binary(self):
        return os.path.join(self.folder, "peers", "kube-target", "release", "bench-kube")

    def version(self):
        with open(os.path.join(HERE, "peers", "kube", "Cargo.lock"), encoding="utf-8") as file:
            text = file.read()
        return text.partition('name = "kube"\nversion = "')[2].partition('"')[0]

    def command(self, server, work):
        command = [self.binary()] + flags(server, work, self.variant) + ["--rounds", str(work["rounds"])]
        return command + (["--watch-list"] if work["watch_list"] else [])


class Kopf(Subject):
    """Caches nothing, so it is not measured in cases about the cache."""

    peer = "kopf"
    variants = ("dict",)
    cases = ("churn", "latency", "idle", "sync", "webhook")

    def webhook_path(self, sort):
        return f"/{sort}"

    def can(self, case, kind):
        return super().can(case, kind) and kind == "websites"

    def environment_folder(self):
        return os.path.join(self.folder, "peers", "kopf")

    def prepare(self):
        python = os.path.join(self.environment_folder(), "bin", "python")
        if not os.path.exists(python):
            run_quietly([sys.executable, "-m", "venv", self.environment_folder()], "venv", self.log_path())
        run_quietly([python, "-m", "pip", "install", "--quiet", "--requirement",
                     os.path.join(HERE, "peers", "kopf", "requirements.txt")], "pip install", self.log_path())

    def version(self):
        with open(os.path.join(HERE, "peers", "kopf", "requirements.txt"), encoding="utf-8") as file:
            return next((line.partition("==")[2].strip() for line in file if line.startswith("kopf==")), "")

    def size(self):
        total = 0
        for folder, _, files in os.walk(self.environment_folder()):
            total += sum(os.path.getsize(os.path.join(folder, f)) for f in files
                         if not os.path.islink(os.path.join(folder, f)))
        return total

    def command(self, server, work):
        return [os.path.join(self.environment_folder(), "bin", "python"),
                os.path.join(HERE, "peers", "kopf", "main.py")] + flags(server, work, self.variant)


class Floor(Subject):
    """The minimal costs of any client: bench-floor receives the same bytes."""

    peer = "floor"
    variants = ("discard", "scan")
    cases = ("sync", "scale")

    def binary(self):
        return os.path.join(self.build_folder, "scripts", "bench", "bench-floor")

    def command(self, server, work):
        path = "/api/v1/pods" if work["kind"] == "pods" else "/apis/example.com/v1/websites"
        path += "?watch=1&sendInitialEvents=true" if work["watch_list"] else "?limit=500"
        command = [self.binary(), self.variant, str(server.ports["tls" if work["tls"] else "plain"]), path]
        if work["tls"]:
            command.append("--tls")
        if work["watch_list"]:
            command += ["--objects", str(work["count"])]
        return command


PEERS = {cls.peer: cls for cls in (Perilune, Floor, ClientGo, ControllerRuntime, Kube, Kopf)}
