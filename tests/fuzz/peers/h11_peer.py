"""h11. In: frames on standard input (32-bit little-endian length, bytes), each a client's whole
stream. Out: a line of JSON for each, as ../peer.ts describes.

Usage: h11_peer.py FOLDER, where `pip install --target FOLDER h11` has put it.
"""

import json
import struct
import sys

sys.path.insert(0, sys.argv[1])

import h11  # noqa: E402  (its folder is an argument)


def text(data):
    return bytes(data).decode("latin1")


def parse(stream):
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 20)
    connection.receive_data(stream)
    requests = []
    request = None
    body = bytearray()

    def ended(outcome, detail=""):
        return {"requests": requests, "outcome": outcome, "detail": detail}

    while True:
        try:
            event = connection.next_event()
        except h11.RemoteProtocolError as error:
            return ended("rejected", str(error))
        if event is h11.NEED_DATA:
            unread = connection.trailing_data[0]
            return ended("complete" if request is None and not unread else "incomplete")
        if isinstance(event, h11.Request):
            request = event
            body = bytearray()
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage):
            requests.append({
                "method": text(request.method),
                "target": text(request.target),
                "fields": [[text(name), text(value)] for name, value in request.headers],
                "body": text(body),
                "end": len(stream) - len(connection.trailing_data[0]),
            })
            request = None
            # An answer makes it read the next request; this one turns down Upgrade and CONNECT.
            connection.send(h11.Response(status_code=404, headers=[("Content-Length", "0")]))
            connection.send(h11.EndOfMessage())
            if connection.our_state is not h11.DONE or connection.their_state is not h11.DONE:
                return ended("closed", "closed")
            connection.start_next_cycle()
        else:
            return ended("rejected", repr(event))


def main():
    source = sys.stdin.buffer
    sink = sys.stdout
    while True:
        head = source.read(4)
        if len(head) < 4:
            return
        (length,) = struct.unpack("<I", head)
        sink.write(json.dumps(parse(source.read(length))))
        sink.write("\n")
        sink.flush()


main()
