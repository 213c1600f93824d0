"""Handlers on kopf for each case of scripts/bench/run. Tuned as its documentation advises: uvloop, no
Events posted, no scanning of the cluster. kopf caches nothing by itself: the handler sees each
object as it comes, and one task an object takes the place of workers."""

import argparse
import asyncio
import json
import logging

import kopf
import uvloop

SENTINEL = 1999999999
KINDS = {"pods": ("", "v1", "pods"), "websites": ("example.com", "v1", "websites")}

parser = argparse.ArgumentParser()
parser.add_argument("--server", required=True)
parser.add_argument("--ca")
parser.add_argument("--case", choices=["sync", "churn", "latency", "webhook"], default="sync")
parser.add_argument("--kind", choices=list(KINDS), default="websites")
parser.add_argument("--variant", choices=["dict"], default="dict")
parser.add_argument("--workers", type=int, default=1, help="not known to kopf")
parser.add_argument("--count", type=int, default=0)
parser.add_argument("--port", type=int, default=0, help="of the webhook case")
parser.add_argument("--cert-dir", help="of the webhook case: tls.crt and tls.key")
args = parser.parse_args()
seen = 0


def say(milestone, **fields):
    print(json.dumps({"milestone": milestone, **fields}), flush=True)


@kopf.on.startup()
def configure(settings, **_):
    settings.posting.enabled = False
    settings.scanning.disabled = True
    if args.case == "webhook":
        settings.admission.server = kopf.WebhookServer(
            addr="127.0.0.1", port=args.port, certfile=args.cert_dir + "/tls.crt",
            pkeyfile=args.cert_dir + "/tls.key")


@kopf.on.login()
def login(**_):
    return kopf.ConnectionInfo(server=args.server, ca_path=args.ca, scheme="Bearer", token=None)


async def handle(body, patch, **_):
    global seen
    seen += 1
    if seen == 1:
        say("first_reconcile")
    if seen == args.count:
        say("synced")
        say("all_reconciled", reconciles=seen)
    metadata = body["metadata"]
    _ = metadata["name"], metadata["resourceVersion"], metadata["uid"]
    if args.case == "sync":
        return
    revision = body["spec"]["revision"]
    if args.case == "churn" and revision == SENTINEL:
        say("sentinel", reconciles=seen - args.count)
    if revision != body["status"]["observedRevision"] and (args.case == "latency" or revision == SENTINEL):
        patch.status["observedRevision"] = revision


def check(spec, **_):
    if spec.get("replicas", 1) > 10:
        raise kopf.AdmissionError("spec.replicas: at most 10")


def fill_in(spec, patch, **_):
    if "replicas" not in spec:
        patch.spec["replicas"] = 1
    patch.metadata.labels["bench"] = "yes"


if args.case == "webhook":
    kopf.on.validate(*KINDS[args.kind], id="validate")(check)
    kopf.on.mutate(*KINDS[args.kind], id="mutate")(fill_in)
else:
    kopf.on.event(*KINDS[args.kind])(handle)

logging.disable(logging.CRITICAL)
uvloop.install()
asyncio.run(kopf.operator(clusterwide=True, standalone=True))
