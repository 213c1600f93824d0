"""A DNS service with its own API, for specs of examples/dns-record: GET, PUT and DELETE of
/records/NAME as JSON, from memory. While the file FOLDER/down exists, it answers 503. Prints its port,
and writes its records to FOLDER/records after each change."""

import http.server
import json
import os
import sys
import threading
import urllib.parse

FOLDER = sys.argv[1]
records = {}
turn = threading.Lock()  # each connection has a thread, and the file has one name


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def handle_one(self, method):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        name = urllib.parse.unquote(self.path.removeprefix("/records/"))
        with turn:
            status, value = self.act(method, name, body)
        return self.answer(status, value)

    def act(self, method, name, body):
        if os.path.exists(FOLDER + "/down"):
            return 503, {"message": "down"}
        if method == "PUT":
            records[name] = json.loads(body)
        elif name not in records:
            return 404, {"message": "no such record"}
        elif method == "DELETE":
            del records[name]
        with open(FOLDER + "/records.new", "w", encoding="utf-8") as file:
            json.dump(records, file)
        os.replace(FOLDER + "/records.new", FOLDER + "/records")
        return 200, records.get(name, {})

    def do_GET(self):
        self.handle_one("GET")

    def do_PUT(self):
        self.handle_one("PUT")

    def do_DELETE(self):
        self.handle_one("DELETE")


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
