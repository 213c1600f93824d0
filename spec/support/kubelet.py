"""A kubelet's logs, for kube-apiserver: kubelet.py CERT KEY FILE prints its port and serves each container
what FILE holds, lines that begin with their times, from the query's sinceTime on."""

import http.server
import ssl
import sys
import urllib.parse

cert, key, path = sys.argv[1:4]


class Kubelet(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = urllib.parse.parse_qs(url.query)
        since = query.get("sinceTime", [""])[0].rstrip("Z")
        tail = int(query.get("tailLines", ["1000000"])[0])
        with open(path) as file:
            lines = [line for line in file if line[:19] >= since[:19]][-tail:]
        if "timestamps" not in query:
            lines = [line.split(" ", 1)[1] for line in lines]
        found = url.path.startswith("/containerLogs/")
        body = "".join(lines).encode() if found else b"no such path"
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Kubelet)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(cert, key)
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
