"""The machine and its processes, read from /proc."""

import os
import platform
import time

TICK = os.sysconf("SC_CLK_TCK")


def _read(path):
    with open(path, encoding="ascii", errors="replace") as file:
        return file.read()


def _seconds(fields):
    """Used CPU time, from the numbers of /proc/stat: all from user to steal, except idle."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = (int(f) for f in fields[:8])
    return (user + nice + system + irq + softirq + steal) / TICK


def busy_seconds():
    """Used CPU time of the machine since boot."""
    return _seconds(_read("/proc/stat").split("\n", 1)[0].split()[1:])


def cpu_seconds(pid):
    """CPU time of a process and of the children that it has waited for; 0 when it has ended."""
    try:
        after_name = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(int(after_name[i]) for i in (11, 12)) / TICK


def status(pid):
    """Resident memory in bytes (now, its peak, the anonymous part) and the number of threads."""
    fields = {}
    for line in _read(f"/proc/{pid}/status").splitlines():
        name, _, value = line.partition(":")
        fields[name] = value.split()
    kib = {name: int(fields[name][0]) * 1024 for name in ("VmRSS", "VmHWM", "RssAnon")}
    return {
        "rss": kib["VmRSS"],
        "peak": kib["VmHWM"],
        "anon": kib["RssAnon"],
        "threads": int(fields["Threads"][0]),
    }


def wake_ups(pid):
    """How often its threads have slept, and so were woken, so far."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            text = _read(f"/proc/{pid}/task/{task}/status")
        except OSError:
            continue
        for line in text.splitlines():
            if line.startswith("voluntary_ctxt_switches:"):
                total += int(line.split()[1])
    return total


def wait_for_quiet(most_seconds):
    """Waits for a second in which the machine is nearly idle, up to a limit. Returns how long it took."""
    start = time.monotonic()
    while time.monotonic() - start < most_seconds:
        before = busy_seconds()
        time.sleep(1)
        if busy_seconds() - before < 0.1:
            break
    return time.monotonic() - start


def wait_for_calm(parts, most_seconds):
    """Waits for half a second in which these processes use almost no CPU time, up to a limit."""
    def used():
        return sum(part.cpu_seconds() for part in parts)
    end = time.monotonic() + most_seconds
    while time.monotonic() < end:
        before = used()
        time.sleep(0.5)
        if used() - before < 0.02:
            break


def describe():
    model = "unknown"
    for line in _read("/proc/cpuinfo").splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return {
        "processor": model,
        "processors": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "load_average": os.getloadavg()[0],
    }
