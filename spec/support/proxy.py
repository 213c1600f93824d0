"""A proxy that misbehaves on purpose, for specs.

    proxy.py URL --port PORT [--ca FILE] [--seed N]     speaks HTTP/1.1 to the client, http or https to URL
    proxy.py --bytes HOST PORT [--cut-after LOW HIGH] [--seed N]     passes bytes, also of TLS

The first prints "PORT CONTROL-PORT". It records every request and applies rules to
some of them. Commands are HTTP requests to the control port, answered with JSON:

    POST /rules     adds the rules of a JSON array; the first that matches a request is used
    DELETE /rules   forgets rules: all, or with ?name=NAME those of that name
    GET /rules      [{"name","hits"}]
    GET /log?from=N the requests since the N-th: n, time, method, path, query, status, rule, bytes
                    (of the body, sent on), done: how it ended ("", "complete", "cut", "stalled",
                    "client left", "server left")
    POST /down, /up refuses connections (the port is closed), and accepts them again
    POST /cut       resets every open connection
    POST /release   ends the effect of a rule's hold
    POST /end?path=REGEX  ends the answers under way to requests of such paths as if complete
    GET /state      {"connections", "requests"}

A rule matches on: method; path, query, authorization, content (the request's body), each also as
not_path and so on (regular expressions, searched); skip (the number of matches before the first that counts), times (how many count; 0: all; default 1),
chance (a probability).

Actions before the server is asked:
    status, headers, body   answers itself
    close                   resets the connection, unanswered
    silent                  accepts the request and never answers
    hold                    requests after this one are accepted and never answered
    delay                   seconds before the request goes on
    ask                     [[regex, text], ...]: changes the query that the server sees
Actions on the answer. N may be [LOW, HIGH], a random number between them:
    replace     [[regex, text], ...] in each line; drop: regex of lines that are left out
    inject      lines put before the body, or before line number inject_at
    inject_big  a watch event with that many bytes; inject_big_name: the name of its object
    twice       each line is sent twice
    pieces      chunks of N bytes, each written on its own; pause: seconds between them
    cut         after N bytes of the body: how is "reset" (default), "close" or "end" (as if
                complete); short_chunk: the last chunk announces more than it has
    cut_wire    the same, counted from the first byte of the status line
    stall       nothing more is sent after N bytes of the body
    end_after   seconds after which the body ends as if complete

The second form prints its port. With --cut-after each connection is cut, in both directions, after
a random number of bytes from the server. SIGUSR1 cuts all connections and refuses new ones until
SIGUSR2.
"""

import argparse
import asyncio
import json
import random
import re
import signal
import ssl
import time
import urllib.parse

HEAD_LIMIT = 1 << 20
PIECE = 65536


# ---- rules ----


def seconds_left(ends):
    return None if ends is None else max(0.0, ends - time.monotonic())


class Rule:
    MATCHERS = ("path", "query", "authorization", "content")

    def __init__(self, given, rand):
        self.given = given
        self.name = given.get("name", "")
        self.skip = given.get("skip", 0)
        self.left = given.get("times", 1) or float("inf")
        self.hits = 0
        self.rand = rand
        self.patterns = []
        for what in self.MATCHERS:
            for key, wanted in ((what, True), ("not_" + what, False)):
                if key in given:
                    self.patterns.append((what, re.compile(given[key]), wanted))

    def matches(self, facts):
        if self.left <= 0 or self.given.get("method", facts["method"]) != facts["method"]:
            return False
        for what, pattern, wanted in self.patterns:
            if bool(pattern.search(facts[what])) != wanted:
                return False
        if self.rand.random() >= self.given.get("chance", 1):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        self.left -= 1
        self.hits += 1
        return True

    def get(self, key, default=None):
        return self.given.get(key, default)

    def number(self, key):
        value = self.given.get(key)
        return self.rand.randint(*value) if isinstance(value, list) else value


# ---- one connection: HTTP/1.1 in ----


class Ended(Exception):
    """Says why an answer is not complete."""


async def read_head(reader):
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return None
    lines = head.decode("latin-1").split("\r\n")
    headers = {}
    for line in lines[1:-2]:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return lines[0], headers


async def body_of(reader, headers):
    """Yields the pieces of a body."""
    if "chunked" in headers.get("transfer-encoding", ""):
        while True:
            size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
            left = size
            while left > 0:
                data = await reader.read(min(left, PIECE))
                if not data:
                    raise Ended("server left")
                left -= len(data)
                yield data
            await reader.readuntil(b"\r\n")
            if size == 0:
                return
    left = int(headers["content-length"]) if "content-length" in headers else None
    while left is None or left > 0:
        data = await reader.read(PIECE if left is None else min(left, PIECE))
        if not data:
            if left:
                raise Ended("server left")
            return
        if left is not None:
            left -= len(data)
        yield data


def big_event(size, name, version):
    event = {
        "type": "MODIFIED",
        "object": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": "x", "resourceVersion": version},
            "data": {"big": ""},
        },
    }
    text = json.dumps(event)
    return text.replace('"big": ""', '"big": "' + "x" * max(0, size - len(text)) + '"').encode()


class Editor:
    """Changes the lines of a body."""

    def __init__(self, rule):
        self.rule = rule
        self.replace = [(re.compile(a.encode()), b.encode()) for a, b in rule.get("replace", [])]
        self.drop = re.compile(rule.get("drop").encode()) if rule.get("drop") else None
        self.inject = [line.encode() for line in rule.get("inject", [])]
        if rule.get("inject_big"):
            name = rule.get("inject_big_name", "big")
            self.inject.append(big_event(rule.get("inject_big"), name, "1"))
        self.at = rule.get("inject_at", 0)
        self.count = 0
        self.rest = b""

    @staticmethod
    def is_needed(rule):
        return any(rule.get(key) for key in ("replace", "drop", "inject", "inject_big", "twice"))

    def injected(self):
        if self.inject and self.count == self.at:
            lines, self.inject = self.inject, []
            return [line + b"\n" for line in lines]
        return []

    def line(self, line):
        out = self.injected()
        self.count += 1
        if self.drop is not None and self.drop.search(line):
            return out
        for pattern, text in self.replace:
            line = pattern.sub(text, line)
        return out + [line] * (2 if self.rule.get("twice") else 1)

    def feed(self, data):
        lines = (self.rest + data).split(b"\n")
        self.rest = lines.pop()
        out = []
        for line in lines:
            out += self.line(line + b"\n")
        return out

    def end(self):
        out = self.line(self.rest) if self.rest else self.injected()
        self.rest = b""
        return out


class Sender:
    """Writes a chunked answer, as far as its rule allows."""

    def __init__(self, writer, rule, entry):
        self.writer = writer
        self.rule = rule
        self.entry = entry
        self.wire = 0
        self.cut = rule.number("cut")
        self.cut_wire = rule.number("cut_wire")
        self.stall = rule.number("stall")
        self.pieces = rule.number("pieces")

    async def write(self, data):
        if self.cut_wire is not None and self.wire + len(data) >= self.cut_wire:
            self.writer.write(data[: self.cut_wire - self.wire])
            await self.writer.drain()
            raise Ended("cut")
        self.wire += len(data)
        self.writer.write(data)
        await self.writer.drain()

    async def chunk(self, data, more=0):
        await self.write(b"%x\r\n" % (len(data) + more) + data + (b"" if more else b"\r\n"))
        self.entry["bytes"] += len(data)

    async def part(self, data):
        """Writes as much of data as the rule allows; raises Ended if that is not all."""
        limit, why = None, None
        for at, name in ((self.cut, "cut"), (self.stall, "stalled")):
            if at is not None and (limit is None or at < limit):
                limit, why = at, name
        room = None if limit is None else limit - self.entry["bytes"]
        if room is not None and len(data) >= room:
            more = 100 if why == "cut" and self.rule.get("short_chunk") else 0
            if room > 0:
                await self.chunk(data[:room], more)
            raise Ended(why)
        await self.chunk(data)

    async def send(self, data):
        step = self.pieces or len(data)
        for at in range(0, len(data), step):
            await self.part(data[at : at + step])
            if self.rule.get("pause"):
                await asyncio.sleep(self.rule.get("pause"))


NO_RULE = Rule({}, random.Random(0))
HOLDING = Rule({"name": "holding", "silent": True}, random.Random(0))


class Connection:
    def __init__(self, proxy, reader, writer):
        self.proxy = proxy
        self.reader = reader
        self.writer = writer
        self.path = ""
        self.ending = False

    def reset(self):
        self.writer.transport.abort()

    async def serve(self):
        while True:
            head = await read_head(self.reader)
            if head is None:
                return
            line, headers = head
            method, target, _ = line.split(" ", 2)
            body = b""
            if "content-length" in headers or "transfer-encoding" in headers:
                if headers.get("expect", "").lower() == "100-continue":
                    self.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                body = b"".join([piece async for piece in body_of(self.reader, headers)])
            if not await self.answer(method, target, headers, body):
                return

    async def wait_for_client(self):
        """Returns when the client has disconnected."""
        while not self.reader.at_eof() and not self.writer.transport.is_closing():
            await asyncio.sleep(0.05)

    async def answer(self, method, target, headers, body):
        """Returns True if the connection can be used again."""
        path, _, query = target.partition("?")
        query = urllib.parse.unquote(query)
        facts = {
            "method": method,
            "path": path,
            "query": query,
            "authorization": headers.get("authorization", ""),
            "content": body.decode("utf-8", "replace"),
        }
        self.path, self.ending = path, False
        rule = HOLDING if self.proxy.holding else self.proxy.rule_for(facts)
        self.proxy.holding |= bool(rule.get("hold"))
        entry = self.proxy.record(method, path, query, rule)
        if rule.get("close"):
            entry["done"] = "cut"
            self.reset()
            return False
        if rule.get("silent"):
            entry["done"] = "stalled"
            await self.wait_for_client()
            return False
        if rule.get("delay"):
            await asyncio.sleep(rule.get("delay"))
        if rule.get("status"):
            return await self.answer_itself(rule, entry)
        if rule.get("ask"):
            for pattern, text in rule.get("ask"):
                query = re.sub(pattern, text, query)
            target = path + "?" + urllib.parse.quote(query, safe="=&,:")
        try:
            return await self.pass_on(rule, entry, (method, target, headers, body))
        except Ended as why:
            entry["done"] = str(why)
            return await self.end_badly(rule, str(why))
        except (OSError, asyncio.IncompleteReadError):
            entry["done"] = entry["done"] or "server left"
            self.reset()
            return False

    async def answer_itself(self, rule, entry):
        body = rule.get("body", "").encode()
        headers = {"Content-Type": "application/json", **rule.get("headers", {})}
        entry["status"] = rule.get("status")
        text = "HTTP/1.1 %d Spec\r\nContent-Length: %d\r\n" % (rule.get("status"), len(body))
        for name, value in headers.items():  # a list: the header is repeated
            for one in value if isinstance(value, list) else [value]:
                text += "%s: %s\r\n" % (name, one)
        text += "\r\n"
        self.writer.write(text.encode() + body)
        await self.writer.drain()
        entry["bytes"], entry["done"] = len(body), "complete"
        return True

    async def end_badly(self, rule, why):
        if why == "stalled":
            await self.wait_for_client()
        elif why == "cut" and rule.get("how") == "end":
            self.writer.write(b"0\r\n\r\n")
            await self.writer.drain()
            return True
        elif why == "cut" and rule.get("how") == "close":
            self.writer.close()
            return False
        self.reset()
        return False

    async def pass_on(self, rule, entry, request):
        server_reader, server_writer = await self.proxy.connect()
        try:
            return await self.exchange(rule, entry, request, (server_reader, server_writer))
        finally:
            server_writer.transport.abort()

    async def exchange(self, rule, entry, request, server):
        method, target, headers, body = request
        reader, writer = server
        drop = ("host", "connection", "content-length", "transfer-encoding", "accept-encoding",
                "expect")
        text = "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n" % (method, target,
                                                                       self.proxy.authority)
        text += "".join("%s: %s\r\n" % (k, v) for k, v in headers.items() if k not in drop)
        if body or method in ("POST", "PUT", "PATCH"):
            text += "Content-Length: %d\r\n" % len(body)
        writer.write(text.encode("latin-1") + b"\r\n" + body)
        await writer.drain()
        head = await read_head(reader)
        if head is None:
            raise Ended("server left")
        line, answer = head
        entry["status"] = int(line.split(" ")[1])
        sender = Sender(self.writer, rule, entry)
        skip = ("connection", "transfer-encoding", "content-length", "keep-alive")
        text = line + "\r\nTransfer-Encoding: chunked\r\n"
        text += "".join("%s: %s\r\n" % (k, v) for k, v in answer.items() if k not in skip)
        await sender.write(text.encode("latin-1") + b"\r\n")
        if method != "HEAD" and entry["status"] not in (204, 304):
            await self.copy(rule, sender, body_of(reader, answer))
        await sender.write(b"0\r\n\r\n")
        entry["done"] = "complete"
        return True

    async def copy(self, rule, sender, pieces):
        editor = Editor(rule) if Editor.is_needed(rule) else None
        after = rule.get("end_after")
        ends = time.monotonic() + after if after is not None else None
        if sender.cut == 0 or sender.stall == 0:
            await sender.part(b"")
        for line in editor.injected() if editor else []:
            await sender.send(line)
        while True:
            data = await self.next_piece(pieces, ends)
            if data is None:
                break
            for part in editor.feed(data) if editor else [data]:
                await sender.send(part)
        for part in editor.end() if editor else []:
            await sender.send(part)

    async def next_piece(self, pieces, ends):
        """Returns None at the end of the body; raises Ended if the client disconnects meanwhile."""
        task = asyncio.ensure_future(pieces.__anext__())
        try:
            while True:
                left = seconds_left(ends)
                wait = 0.1 if left is None else min(0.1, left)
                done, _ = await asyncio.wait({task}, timeout=wait)
                if done:
                    return task.result()
                if self.reader.at_eof() or self.writer.transport.is_closing():
                    raise Ended("client left")
                if self.ending or (left is not None and left <= 0):
                    return None
        except StopAsyncIteration:
            return None
        finally:
            if not task.done():
                task.cancel()


class Proxy:
    def __init__(self, options):
        url = urllib.parse.urlsplit(options.url)
        self.host, self.authority = url.hostname, url.netloc
        self.target_port = url.port or (443 if url.scheme == "https" else 80)
        self.tls = None
        if url.scheme == "https":
            self.tls = ssl.create_default_context(cafile=options.ca)
        self.rand = random.Random(options.seed)
        self.rules, self.log, self.live = [], [], set()
        self.holding = False
        self.started = time.monotonic()
        self.port, self.server = options.port, None  # somebody holds it while the proxy is down

    def rule_for(self, facts):
        for rule in self.rules:
            if rule.matches(facts):
                return rule
        return NO_RULE

    def record(self, method, path, query, rule):
        entry = {"n": len(self.log) + 1, "time": time.monotonic() - self.started,
                 "method": method, "path": path, "query": query, "rule": rule.name,
                 "status": 0, "bytes": 0, "done": ""}
        self.log.append(entry)
        return entry

    async def connect(self):
        return await asyncio.open_connection(self.host, self.target_port, ssl=self.tls,
                                             limit=HEAD_LIMIT)

    async def serve(self, reader, writer):
        connection = Connection(self, reader, writer)
        self.live.add(connection)
        try:
            await connection.serve()
        except (OSError, asyncio.IncompleteReadError, Ended):
            pass
        finally:
            self.live.discard(connection)
            writer.transport.abort()

    async def up(self):
        if self.server is None:
            self.server = await asyncio.start_server(self.serve, "127.0.0.1", self.port,
                                                     limit=HEAD_LIMIT, backlog=1024)

    def cut(self):
        for connection in list(self.live):
            connection.reset()

    def down(self):
        if self.server is not None:
            self.server.close()
            self.server = None
        self.cut()

    async def command(self, method, target, body):
        path, _, query = target.partition("?")
        query = dict(urllib.parse.parse_qsl(query))
        if (method, path) == ("POST", "/rules"):
            self.rules += [Rule(given, self.rand) for given in json.loads(body)]
        elif (method, path) == ("DELETE", "/rules"):
            name = query.get("name")
            self.rules = [rule for rule in self.rules if name and rule.name != name]
        elif (method, path) == ("GET", "/rules"):
            return [{"name": rule.name, "hits": rule.hits} for rule in self.rules]
        elif (method, path) == ("GET", "/log"):
            return self.log[int(query.get("from", 0)) :]
        elif (method, path) == ("POST", "/up"):
            await self.up()
        elif (method, path) == ("POST", "/down"):
            self.down()
        elif (method, path) == ("POST", "/cut"):
            self.cut()
        elif (method, path) == ("POST", "/release"):
            self.holding = False
        elif (method, path) == ("POST", "/end"):
            for connection in self.live:
                connection.ending |= bool(re.search(query["path"], connection.path))
        elif (method, path) != ("GET", "/state"):
            return None
        return {"connections": len(self.live), "requests": len(self.log)}

    async def control(self, reader, writer):
        head = await read_head(reader)
        if head is not None:
            line, headers = head
            method, target, _ = line.split(" ", 2)
            body = b"".join([piece async for piece in body_of(reader, headers)]
                            if "content-length" in headers else [])
            try:
                answer, code = await self.command(method, target, body), 200
            except (ValueError, TypeError, KeyError, re.error) as error:
                answer, code = {"error": str(error)}, 400
            text = json.dumps(answer).encode()
            writer.write(b"HTTP/1.1 %d Spec\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
                         % (404 if answer is None else code, len(text)) + text)
            await writer.drain()
        writer.close()


async def serve_http(options):
    proxy = Proxy(options)
    await proxy.up()
    control = await asyncio.start_server(proxy.control, "127.0.0.1", 0, limit=HEAD_LIMIT)
    print(proxy.port, control.sockets[0].getsockname()[1], flush=True)
    await control.serve_forever()


# ---- bytes ----


async def pump(reader, writer, budget, both):
    try:
        while True:
            data = await reader.read(4096)
            if not data:
                break
            if budget is not None:
                data = data[: budget[0]]
                budget[0] -= len(data)
            writer.write(data)
            await writer.drain()
            if budget is not None and budget[0] <= 0:
                break
    except OSError:
        pass
    for one in both:
        one.close()


async def serve_bytes(options):
    host, port = options.bytes
    rand = random.Random(options.seed)
    cut = asyncio.Event()
    live = set()

    def cut_all():
        cut.set()
        for one in live:
            one.transport.abort()

    async def serve(client_reader, client_writer):
        if cut.is_set():
            client_writer.transport.abort()
            return
        try:
            server_reader, server_writer = await asyncio.open_connection(host, int(port))
        except OSError:
            client_writer.close()
            return
        budget = [rand.randint(*options.cut_after)] if options.cut_after else None
        both = (client_writer, server_writer)
        live.update(both)
        await asyncio.gather(
            pump(client_reader, server_writer, None, both),
            pump(server_reader, client_writer, budget, both),
        )
        live.difference_update(both)

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, cut_all)
    loop.add_signal_handler(signal.SIGUSR2, cut.clear)
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url", nargs="?")
    parser.add_argument("--port", type=int)
    parser.add_argument("--ca")
    parser.add_argument("--bytes", nargs=2)
    parser.add_argument("--cut-after", nargs=2, type=int)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if (options.url is None) == (options.bytes is None):
        parser.error("either a URL or --bytes HOST PORT")
    asyncio.run(serve_bytes(options) if options.bytes else serve_http(options))


main()
