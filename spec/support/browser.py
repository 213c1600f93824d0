"""A headless Chromium, driven over HTTP by specs (spec/support/browser.lua).

    browser.py [--window WIDTHxHEIGHT]

Prints the port of its control. Each POST has a JSON object, each answer is {"value": ...} or {"error": text}:

    {"do": "open", "url": URL}      loads the page and waits for its load event
    {"do": "js", "text": TEXT}      the value of an expression; promises are waited for
    {"do": "ask", "text": TEXT}     the same; null while another page takes the place of this one
    {"do": "key", "key": "Tab"}     a key, pressed and released, as a person does; "/" and letters type
    {"do": "scheme", "name": NAME}  "light" or "dark"
    {"do": "shot", "file": PATH}    a picture of the window as WebP
    {"do": "seen"}                  {"requests": [URLs], "errors": [what the console and the page complained of]}

It speaks the DevTools protocol over two pipes, so that no port of the browser is open.
"""

import argparse
import base64
import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

CALL_SECONDS = 60
LEFT = "Inspected target navigated or closed"

# Keys that type no character: the protocol needs their codes.
CODES = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36,
         "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


class Browser:
    def __init__(self, window):
        self.profile = tempfile.mkdtemp(prefix="perilune-browser-")
        to_read, self.to = os.pipe()
        self.back, from_write = os.pipe()

        def pipes():  # the browser reads 3 and writes 4
            os.dup2(to_read, 30)
            os.dup2(from_write, 31)
            os.dup2(30, 3)
            os.dup2(31, 4)

        program = shutil.which("chromium") or shutil.which("chromium-browser")
        if program is None:
            raise SystemExit("browser: there is no chromium")
        self.child = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--disable-background-networking", "--disable-component-update", "--no-first-run",
             "--remote-debugging-pipe", "--window-size=" + window.replace("x", ","),
             "--user-data-dir=" + self.profile, "about:blank"],
            preexec_fn=pipes, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.lock = threading.Condition()
        self.number = 0
        self.answers = {}
        self.requests = []
        self.errors = []
        self.loads = 0
        self.ended = False
        self.session = None
        threading.Thread(target=self.read, daemon=True).start()
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")

    def read(self):
        rest = b""
        while True:
            piece = os.read(self.back, 1 << 16)
            if not piece:
                break
            *messages, rest = (rest + piece).split(b"\0")
            for message in messages:
                with self.lock:
                    self.hear(json.loads(message))
                    self.lock.notify_all()
        with self.lock:
            self.ended = True
            self.lock.notify_all()

    def hear(self, message):
        params = message.get("params", {})
        method = message.get("method")
        if "id" in message:
            self.answers[message["id"]] = message
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loads += 1
        elif method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(params["exceptionDetails"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(params["entry"]["text"] + " " + params["entry"].get("url", ""))

    def wait(self, ready):
        with self.lock:
            if not self.lock.wait_for(lambda: ready() or self.ended, CALL_SECONDS):
                raise RuntimeError("the browser has not answered in %d s" % CALL_SECONDS)
            if not ready():
                raise RuntimeError("the browser has ended")

    def call(self, method, **params):
        with self.lock:
            self.number += 1
            number = self.number
        message = {"id": number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        self.wait(lambda: number in self.answers)
        answer = self.answers.pop(number)
        if "error" in answer:
            raise RuntimeError(method + ": " + answer["error"]["message"])
        return answer["result"]

    def open(self, url):
        loads = self.loads
        self.call("Page.navigate", url=url)
        self.wait(lambda: self.loads > loads)

    def js(self, text):
        answer = self.call("Runtime.evaluate", expression=text, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def ask(self, text):
        try:
            return self.js(text)
        except RuntimeError as error:
            if LEFT not in str(error):
                raise
            return None

    def key(self, key):
        code = CODES.get(key)
        common = {"key": key, "windowsVirtualKeyCode": code if code else ord(key.upper()[0])}
        if code is None or key == " " or key == "Enter":
            common["text"] = "\r" if key == "Enter" else key
        self.call("Input.dispatchKeyEvent", type="keyDown", **common)
        common.pop("text", None)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def do(self, order):
        what = order["do"]
        if what == "open":
            return self.open(order["url"])
        if what == "js":
            return self.js(order["text"])
        if what == "ask":
            return self.ask(order["text"])
        if what == "key":
            return self.key(order["key"])
        if what == "scheme":
            self.call("Emulation.setEmulatedMedia",
                      features=[{"name": "prefers-color-scheme", "value": order["name"]}])
            return None
        if what == "shot":
            picture = self.call("Page.captureScreenshot", format="webp", quality=80)["data"]
            with open(order["file"], "wb") as file:
                file.write(base64.b64decode(picture))
            return None
        if what == "seen":
            return {"requests": self.requests, "errors": self.errors}
        raise RuntimeError("what is " + what + "?")

    def end(self):
        self.child.kill()
        self.child.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


class Control(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            answer = {"value": self.server.browser.do(order)}
        except Exception as error:  # whatever it is, the spec is to say it
            answer = {"error": str(error)}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--window", default="1200x800")
    server = http.server.HTTPServer(("127.0.0.1", 0), Control)
    server.browser = Browser(parser.parse_args().window)
    print(server.server_address[1], flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        server.serve_forever()
    finally:
        server.browser.end()


if __name__ == "__main__":
    main()
