"""A webhook server for specs of API servers that call webhooks. The path says what it does.

It must not depend on Perilune, because it compares API servers. Arguments: a folder, in which it
writes ca.pem, and `reviews` with one JSON line for each received review; the namespace of a Service
"hooks", for which its certificate is also valid. Prints its port.

A path is a sequence of actions: /append/a/sleep/2 sleeps two seconds and appends "a" to the object's
annotation "order". Words: append T, set T (the annotation is T), once T (appends T unless it ends
in it), deny T, warn T, status N (that HTTP status), code N (of the denial), silent (a denial without
a message), uid T (a wrong uid), text T (no JSON), untyped (no patchType), broken T (a patch that
removes a missing member), patch H (more operations of the patch: JSON in hexadecimal digits),
answer H (members of the response, in the same form), sleep N.

Conversions: spec.size is a number in v1 and its text in v2. The object's annotation "returns" is
JSON that replaces members of the result and of its metadata; VERSION in it is the wanted version."""

import base64
import http.server
import json
import ssl
import subprocess
import sys
import time
import urllib.parse

FOLDER = sys.argv[1]
NAMESPACE = sys.argv[2]  # of Services that lead here


def make_certificate():
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-keyout", FOLDER + "/key.pem", "-out", FOLDER + "/ca.pem", "-days", "2", "-subj", "/CN=hooks",
         "-addext", "subjectAltName=IP:127.0.0.1,DNS:hooks.%s.svc" % NAMESPACE],
        check=True, stderr=subprocess.DEVNULL)


def ordered(request, change):
    """The patch that gives the annotation "order" the value that change makes of it."""
    metadata = (request.get("object") or {}).get("metadata", {})
    notes = metadata.get("annotations") or {}
    before = notes.get("order", "")
    after = change(before)
    if after == before:
        return []
    if not notes:
        return [{"op": "add", "path": "/metadata/annotations", "value": {"order": after}}]
    return [{"op": "add", "path": "/metadata/annotations/order", "value": after}]


def converted(made, version):
    """The object in another version."""
    short = version.split("/")[1]
    metadata, spec = made["metadata"], made["spec"]
    returns = json.loads((metadata.get("annotations") or {}).get("returns", "{}").replace("VERSION", short))
    metadata.update(returns.pop("metadata", {}))
    spec["size"] = str(int(spec["size"])) if short == "v2" else int(spec["size"])
    return {**made, "apiVersion": version, **returns}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body):
        data = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        url = urllib.parse.urlsplit(self.path)
        request = review["request"]
        with open(FOLDER + "/reviews", "a", encoding="utf-8") as file:
            file.write(json.dumps({"path": url.path, "query": url.query, "request": request}) + "\n")
        if review["kind"] == "ConversionReview":
            made = [converted(one, request["desiredAPIVersion"]) for one in request["objects"]]
            response = {"uid": request["uid"], "convertedObjects": made, "result": {"status": "Success"}}
            return self.answer(200, json.dumps(
                {"kind": review["kind"], "apiVersion": review["apiVersion"], "response": response}))
        response = {"uid": request["uid"], "allowed": True}
        typed, patch = True, []
        words = iter(urllib.parse.unquote(url.path).strip("/").split("/"))
        for word in words:
            if word in ("silent", "untyped"):
                typed = typed and word != "untyped"
                if word == "silent":
                    response["allowed"] = False
                continue
            value = next(words)
            if word == "append":
                patch += ordered(request, lambda text: text + value)
            elif word == "set":
                patch += ordered(request, lambda text: value)
            elif word == "once":
                patch += ordered(request, lambda text: text if text.endswith(value) else text + value)
            elif word == "deny":
                response["allowed"] = False
                response.setdefault("status", {})["message"] = value
            elif word == "code":
                response.setdefault("status", {})["code"] = int(value)
            elif word == "warn":
                response.setdefault("warnings", []).append(value)
            elif word == "broken":
                patch.append({"op": "remove", "path": "/data/" + value})
            elif word == "patch":
                patch += json.loads(bytes.fromhex(value))
            elif word == "answer":
                response.update(json.loads(bytes.fromhex(value)))
            elif word == "uid":
                response["uid"] = value
            elif word == "sleep":
                time.sleep(float(value))
            elif word == "status":
                return self.answer(int(value), "not now\n")
            elif word == "text":
                return self.answer(200, value)
        if patch:
            response["patch"] = base64.b64encode(json.dumps(patch).encode()).decode()
            if typed:
                response["patchType"] = "JSONPatch"
        return self.answer(200, json.dumps(
            {"kind": review["kind"], "apiVersion": review["apiVersion"], "response": response}))


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # a caller that went away


make_certificate()
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(FOLDER + "/ca.pem", FOLDER + "/key.pem")
server = Server(("127.0.0.1", 0), Handler)
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
print(server.server_address[1], flush=True)
server.serve_forever()
