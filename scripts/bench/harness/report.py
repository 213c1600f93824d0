"""Makes medians, a Markdown table and the data of the charts from measurements."""

import statistics

# For each case: the metrics of its table, and the metric of its chart and its ratios.
# For latency, each rate has its own names.
COLUMNS = {
    "sync": (("synced_s", "all_reconciled_s", "cpu_s", "rss_bytes", "peak_bytes"), "synced_s"),
    "reconciled": (("all_reconciled_s", "reconciled_to_synced", "cpu_s"), "all_reconciled_s"),
    "memory": (("synced_bytes_an_object", "updated_bytes_an_object", "churned_bytes_an_object",
                "deleted_bytes_a_live_object", "peak_bytes"), "churned_bytes_an_object"),
    "churn": (("events_a_second", "cpu_us_an_event", "reconciles_an_event", "rss_bytes"),
              "events_a_second"),
    "latency": ((), None),
    "reconcile": (("reconciles_a_second",), "reconciles_a_second"),
    "queue": (("one_ns", "filled_ns", "add_after_ns", "beside_delays_ns"), "one_ns"),
    "list": (("label_whole_us_an_object", "label_select_us_an_object", "label_each_us_an_object",
              "label_shared_us_an_object", "index_whole_us_an_object", "index_select_us_an_object",
              "index_each_us_an_object", "index_shared_us_an_object"), "label_whole_us_an_object"),
    "idle": (("first_request_ms", "rss_bytes", "anon_bytes", "threads", "wake_ups_a_minute",
              "program_bytes"), "rss_bytes"),
    "scale": (("synced_s", "all_reconciled_s", "rss_bytes_an_object", "peak_bytes",
               "turns_over_20_ms", "turns_over_50_ms"), "synced_s"),
    "webhook": (("requests_a_second", "p50_us", "p99_us", "max_us", "cpu_us_a_request", "rss_bytes",
                 "first_request_ms", "saved_a_second", "saved_p50_us", "saved_p99_us"),
                "requests_a_second"),
}
MORE_IS_BETTER = ("events_a_second", "reconciles_a_second", "requests_a_second")


def summary(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values),
            "n": len(values), "values": values}


def columns(case, cell):
    """The metrics of the table and the main metric, for a cell of results."""
    metrics, main = COLUMNS[case]
    if case == "latency":
        names = {m for subject in cell.values() for m in subject}
        rates = sorted({int(m.split("_", 1)[0]) for m in names})
        metrics = tuple(f"{r}_a_second_{what}" for r in rates
                        for what in ("p50_us", "p99_us", "cpu_us_an_event"))
        main = f"{rates[-1] if len(rates) < 2 else rates[1]}_a_second_p50_us" if rates else None
    return [m for m in metrics if any(m in subject for subject in cell.values())], main


def number(metric, value):
    if metric.endswith("_bytes"):
        return f"{value / 2 ** 20:,.1f} MiB"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def label(metric):
    return metric.removesuffix("_bytes").replace("_", " ").replace(" an ", "/").replace(" a ", "/")


def shown(metric, one):
    text = number(metric, one["median"])
    if one["n"] > 1:
        text += f" ({number(metric, one['min'])}–{number(metric, one['max'])})"
    return text


def ratio(cell, main, subject, to):
    """How many times worse than `to` the subject is; empty if there is nothing to compare."""
    if main not in cell[subject] or main not in cell.get(to, {}):
        return ""
    mine, theirs = cell[subject][main]["median"], cell[to][main]["median"]
    if main in MORE_IS_BETTER:
        mine, theirs = theirs, mine
    return f"{mine / theirs:.2f}" if theirs > 0 else ""


def table(case, cell):
    metrics, main = columns(case, cell)
    has_floor = "floor:discard" in cell
    head = ["program", "rounds"] + [label(m) for m in metrics] + ["to Perilune"]
    if has_floor:
        head.append("to the floor")
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for subject, values in cell.items():
        rounds = max((one["n"] for one in values.values()), default=0)
        row = [subject, str(rounds)] + [shown(m, values[m]) if m in values else "–" for m in metrics]
        row.append(ratio(cell, main, subject, "perilune"))
        if has_floor:
            row.append(ratio(cell, main, subject, "floor:discard"))
        lines.append("| " + " | ".join(row) + " |")
    return lines


def markdown(result, in_short):
    machine = result["machine"]
    lines = [
        "# Benchmark", "",
        f"{result['started']}; {machine['processor']}, {machine['processors']} processors, "
        f"Linux {machine['kernel']}; medians with (min–max). The last "
        "columns say how many times worse than Perilune and than receive-and-discard a program is, "
        "by the metric in bold below each heading.", "",
        "Versions: " + ", ".join(f"{name} {v}" for name, v in result["versions"].items() if v) + ".",
    ]
    if result["quick"]:
        lines += ["", "**A quick run with tiny numbers: it shows that the benchmark works, no more.**"]
    for name, why in result["skipped"].items():
        lines += ["", f"**Left out: {name}: {why.splitlines()[0]}**"]
    lines += ["", "## In short", "", *in_short]
    for case, cells in result["cases"].items():
        lines += ["", f"## {case}"]
        for cell, subjects in cells.items():
            if not subjects:
                continue
            lines += ["", f"### {cell}", "", f"**{label(columns(case, subjects)[1] or '')}**", ""]
            lines += table(case, subjects)
    if result["failures"]:
        lines += ["", "## Not measured", ""]
        lines += [f"- {f['case']}, {f['cell']}, {f['subject']}: {f['why'].splitlines()[0]}"
                  for f in result["failures"]]
    return "\n".join(lines) + "\n"
