"""A TCP proxy that misbehaves on purpose, for specs.

    proxy.py TARGET_HOST TARGET_PORT [--cut-after LOW HIGH] [--seed N]

Prints the port it listens on. With --cut-after each connection is cut, in both directions, after
a random number of bytes from the server between LOW and HIGH. SIGUSR1 cuts all connections and
refuses new ones until SIGUSR2.
"""

import argparse
import asyncio
import random
import signal


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


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("--cut-after", nargs=2, type=int)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
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
            server_reader, server_writer = await asyncio.open_connection(options.host, options.port)
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


asyncio.run(main())
