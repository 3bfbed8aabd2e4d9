#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""HTTP proxy that opens tunnels with CONNECT, or fails in a chosen way.

  proxy.py [--lead-to PORT] [--log FILE] [--want USER:PASSWORD] [--fault FAULT] [--mute FILE]

Prints `listening on 127.0.0.1:PORT` on standard error. --lead-to sends every tunnel to that local port. FAULT is silent,
hang-up, status=NNN, garbage, long, eager (sends bytes after its response) or slow (sends its response byte by byte).
While FILE exists, nothing that the client sends reaches the server.
"""
import argparse, asyncio, base64, json, os, re, sys


async def pump(reader, writer, is_muted=lambda: False):
    try:
        while data := await reader.read(65536):
            if is_muted():
                continue
            writer.write(data)
            await writer.drain()
        writer.write_eof()
    except OSError:
        # If one end disconnects, the other end is disconnected as well.
        writer.close()


class Proxy:
    def __init__(self, options):
        self.options = options

    def log(self, entry):
        if self.options.log:
            with open(self.options.log, "a") as file:
                file.write(json.dumps(entry) + "\n")

    async def serve(self, reader, writer):
        try:
            await self.answer(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def answer(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        self.log({"request": head[0], "fields": fields})
        fault = self.options.fault or ""
        if fault == "silent":
            await reader.read()
            return
        if fault == "hang-up":
            return
        if fault == "garbage":
            writer.write(b"SSH-2.0-OpenSSH_9.2\r\n")
            await reader.read()
            return
        if fault == "long":
            writer.write(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 20000 + b"\r\n\r\n")
            await reader.read()
            return
        if fault.startswith("status="):
            writer.write(b"HTTP/1.1 %d No\r\nContent-Length: 0\r\n\r\n" % int(fault[7:]))
            await reader.read()
            return
        if self.options.want:
            wanted = "Basic " + base64.b64encode(self.options.want.encode()).decode()
            if fields.get("proxy-authorization") != wanted:
                writer.write(b"HTTP/1.1 407 Who?\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n")
                await reader.read()
                return
        method, target, version = head[0].split(" ")
        assert method == "CONNECT" and version == "HTTP/1.1" and fields["host"] == target, head
        assert re.fullmatch(r"hybrid-[a-z]+/[0-9]+(\.[0-9]+)*", fields["user-agent"]), head
        host, _, port = target.rpartition(":")
        if self.options.lead_to:
            host, port = "127.0.0.1", self.options.lead_to
        far_reader, far_writer = await asyncio.open_connection(host.strip("[]"), int(port))
        answer = b"HTTP/1.1 200 Connection established\r\nVia: 1.1 test\r\n\r\n"
        if fault == "eager":
            answer += b"\x16\x03\x01"
        for part in [answer[i:i + 1] for i in range(len(answer))] if fault == "slow" else [answer]:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0)
        mute = self.options.mute
        await asyncio.gather(pump(reader, far_writer, lambda: mute and os.path.exists(mute)),
                             pump(far_reader, writer))
        far_writer.close()


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lead-to", type=int)
    parser.add_argument("--log")
    parser.add_argument("--want")
    parser.add_argument("--fault")
    parser.add_argument("--mute")
    proxy = Proxy(parser.parse_args())
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    print("listening on 127.0.0.1:%d" % server.sockets[0].getsockname()[1], file=sys.stderr, flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
