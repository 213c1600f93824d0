"""The table of README.md: one line for each figure, and for each peer its best variant."""

from . import report

PEERS = ("perilune", "client-go", "controller-runtime", "kube", "kopf", "floor")
# Variants that are not the default, or that cache less than whole objects.
NOT_COMPARED = ("perilune:jit", "floor:scan")

PODS, SITES = "pods plain LIST", "websites plain LIST"
LINES = (
    ("100,000 pods listed, s", "sync", PODS, "synced_s"),
    ("the same with TLS, s", "sync", "pods TLS LIST", "synced_s"),
    ("the same as WatchList, s", "sync", "pods plain WatchList", "synced_s"),
    ("and each reconciled once, s", "sync", PODS, "all_reconciled_s"),
    ("100,000 custom resources listed, s", "sync", SITES, "synced_s"),
    ("the same with TLS, s", "sync", "websites TLS LIST", "synced_s"),
    ("the same as WatchList, s", "sync", "websites plain WatchList", "synced_s"),
    ("and each reconciled once, s", "sync", SITES, "all_reconciled_s"),
    ("memory of a cached pod, bytes", "memory", "pods", "synced_bytes_an_object"),
    ("the same after updates, bytes", "memory", "pods", "churned_bytes_an_object"),
    ("a pod left of ten, bytes", "memory", "pods", "deleted_bytes_a_live_object"),
    ("watch events, one worker, /s", "churn", "websites, one worker", "events_a_second"),
    ("CPU of a watch event, us", "churn", "websites, one worker", "cpu_us_an_event"),
    ("event to PATCH at 1,000/s, p50, us", "latency", "10000 websites, 1 worker",
     "1000_a_second_p50_us"),
    ("the same, p99, us", "latency", "10000 websites, 1 worker", "1000_a_second_p99_us"),
    ("at 5,000/s, p50, us", "latency", "10000 websites, 1 worker", "5000_a_second_p50_us"),
    ("at 5,000/s, ten workers, p50, us", "latency", "10000 websites, 10 workers",
     "5000_a_second_p50_us"),
    ("reconciles with reads, one worker, /s", "reconcile", "websites with 3 pages",
     "reconciles_a_second"),
    ("workqueue, ns a key", "queue", "string keys", "one_ns"),
    ("list by label, us an object", "list", "a tenth of the pods", "label_each_us_an_object"),
    ("list by index, us an object", "list", "a tenth of the pods", "index_each_us_an_object"),
    ("idle, MiB", "idle", "one watch over TLS", "rss_bytes"),
    ("start to first request, ms", "idle", "one watch over TLS", "first_request_ms"),
    ("wake-ups a minute", "idle", "one watch over TLS", "wake_ups_a_minute"),
    ("1,000,000 custom resources listed, s", "scale", "1000000 websites", "synced_s"),
    ("memory of each, bytes", "scale", "1000000 websites", "rss_bytes_an_object"),
    ("validating webhook over TLS, requests/s", "webhook", "validate, 16 connections", "requests_a_second"),
    ("the same, p99, us", "webhook", "validate, 16 connections", "p99_us"),
    ("mutating webhook over TLS, requests/s", "webhook", "mutate, 16 connections", "requests_a_second"),
    ("the same, p99, us", "webhook", "mutate, 16 connections", "p99_us"),
    ("start to first review, ms", "webhook", "validate, 16 connections", "first_request_ms"),
)
# Peers return whole objects, and the program chooses the fields.
WHOLE = {"label_each_us_an_object": "label_whole_us_an_object",
         "index_each_us_an_object": "index_whole_us_an_object"}


def best(subjects, peer, metric):
    """The median of the peer's best variant that caches whole objects, and its name."""
    found = []
    for name, values in subjects.items():
        of, _, variant = name.partition(":")
        known = metric if metric in values else WHOLE.get(metric)
        if of == peer and name not in NOT_COMPARED and variant != "metadata" and known in values:
            found.append((values[known]["median"], variant))
    if not found:
        return "–"
    value, variant = (max if metric in report.MORE_IS_BETTER else min)(found)
    text = report.number(metric, value).removesuffix(" MiB")
    return f"{text} {variant}" if variant not in ("", "discard", "dict") else text


def markdown(result):
    """Lines without a measurement are left out."""
    lines = ["| | " + " | ".join(PEERS[:-1]) + " | receive and discard |", "|" + " --- |" * 7]
    for text, case, cell, metric in LINES:
        subjects = result["cases"].get(case, {}).get(cell, {})
        if not any(metric in values for values in subjects.values()):
            continue
        row = [best(subjects, peer, metric) for peer in PEERS]
        lines.append(f"| {text} | " + " | ".join(row) + " |")
    return lines
