#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Web server in place of a relay; it answers every request with one status.

  web_server.py --cert FILE --key FILE [--status NNN] [--location URL] [--type TYPE] [--body TEXT]
                [--clock SECONDS] [--most N] [--log FILE]

Prints `listening on 127.0.0.1:PORT` on standard error. `{path}` in URL is replaced by the requested path. --clock sets
the clock forward. The server stops listening after N requests.
"""
import argparse, asyncio, email.utils, json, ssl, sys, time


class Server:
    def __init__(self, options):
        self.options = options
        self.count = 0
        self.server = None

    async def serve(self, reader, writer):
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
            self.count += 1
            if self.count == self.options.most:
                self.server.close()
            if self.options.log:
                with open(self.options.log, "a") as file:
                    file.write(json.dumps({"request": head[0], "fields": fields}) + "\n")
            date = email.utils.formatdate(time.time() + self.options.clock, usegmt=True)
            answer = f"HTTP/1.1 {self.options.status} Text\r\nDate: {date}\r\nContent-Length: {len(self.options.body.encode())}\r\n"
            if self.options.type:
                answer += f"Content-Type: {self.options.type}\r\n"
            for location in self.options.location:
                answer += "Location: " + location.replace("{path}", head[0].split(" ")[1]) + "\r\n"
            writer.write(answer.encode() + b"\r\n" + self.options.body.encode())
            await reader.read()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cert", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--status", type=int, default=404)
    parser.add_argument("--location", action="append", default=[])
    parser.add_argument("--type")
    parser.add_argument("--body", default="")
    parser.add_argument("--clock", type=int, default=0)
    parser.add_argument("--most", type=int)
    parser.add_argument("--log")
    options = parser.parse_args()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(options.cert, options.key)
    serving = Server(options)
    server = serving.server = await asyncio.start_server(serving.serve, "127.0.0.1", 0, ssl=tls)
    print("listening on 127.0.0.1:%d" % server.sockets[0].getsockname()[1], file=sys.stderr, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
