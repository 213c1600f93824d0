"""A program that is measured, while it runs: its milestones, memory and processor time."""

import json
import os
import signal
import subprocess
import tempfile
import threading
import time

from . import machine
from .server import Failure


class Program:
    """Milestones are lines of JSON with the member "milestone", on stdout or stderr."""

    def __init__(self, command, environment):
        self.log = tempfile.TemporaryFile(mode="w+", encoding="utf-8", errors="replace")
        self.milestones = []
        self.changed = threading.Condition()
        self.start_ns = time.monotonic_ns()
        self.process = subprocess.Popen(
            command, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            now_ns = time.monotonic_ns()
            text = line.decode("utf-8", "replace")
            if '"milestone"' in text:
                try:
                    fields = json.loads(text)
                except ValueError:
                    fields = {}
                if "milestone" in fields:
                    with self.changed:
                        self.milestones.append((now_ns, fields))
                        self.changed.notify_all()
                    continue
            with self.changed:
                self.log.write(text)
        with self.changed:
            self.changed.notify_all()

    def is_alive(self):
        return self.process.poll() is None

    def _find(self, names):
        for now_ns, fields in self.milestones:
            if fields["milestone"] in names:
                return (now_ns - self.start_ns) / 1e9, fields
        return None

    def wait_for(self, *names, seconds):
        """Seconds from the start of the program to the first of these milestones, and its fields."""
        end = time.monotonic() + seconds
        with self.changed:
            while True:
                found = self._find(names)
                if found:
                    return found
                if not self.reader.is_alive():
                    raise Failure(f"it ended before {names[0]}: {self.last_words()}")
                if time.monotonic() > end:
                    raise Failure(f"no {names[0]} within {seconds:g} s: {self.last_words()}")
                self.changed.wait(0.2)

    def _logged_so_far(self):
        with self.changed:
            self.log.flush()
            self.log.seek(0)
            text = self.log.read()
            self.log.seek(0, os.SEEK_END)
        return text

    def logged(self, message):
        """The first line of its log (JSON) with this message."""
        for line in self._logged_so_far().splitlines():
            if line.startswith("{") and json.loads(line).get("msg") == message:
                return json.loads(line)
        raise Failure(f"it has not logged: {message}")

    def last_words(self):
        try:
            text = self._logged_so_far()[-600:].strip()
        except ValueError:
            text = ""
        return text or "it said nothing"

    def status(self):
        if not self.is_alive():
            raise Failure(f"it ended: {self.last_words()}")
        return machine.status(self.process.pid)

    def cpu_seconds(self):
        return machine.cpu_seconds(self.process.pid)

    def wake_ups(self):
        return machine.wake_ups(self.process.pid)

    def stop(self):
        if self.is_alive():
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.reader.join(timeout=5)
        self.process.stdout.close()
        self.log.close()
