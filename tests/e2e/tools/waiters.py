#!/usr/bin/env python3
"""waiters.py COUNT HANDOVERS SOCKET...: COUNT clients at each socket that acquire one name, let it go at once, and wait again,
until it changed hands HANDOVERS times. Prints the most hand-overs that one waited for, the longest time in ms from
a release to the next grant, how many grants came in all, and the fewest that a client had. With HANDOVERS = 0 they only wait, until standard input ends;
"waiting" is printed once all have asked. Shares no code with Leasehold."""
import selectors
import socket
import sys
import time

count, handovers, paths = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
selector = selectors.DefaultSelector()
seen, worst, longest, last_token, released = 0, 0, 0.0, 0, None


def request(*words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in map(str.encode, words))


def scalars(text):
    """The scalars of one flat reply, or None if it is not whole."""
    lines = text.split(b"\r\n")
    if lines[0][:1] not in b"*%" or len(lines) < 2:
        sys.exit("reply: %r" % text)
    left, at, found = int(lines[0][1:]) * (2 if lines[0][:1] == b"%" else 1), 1, []
    while left > 0:
        string = lines[at][:1] == b"$"
        if at + string + 1 >= len(lines):
            return None
        found.append(lines[at + 1] if string else lines[at][1:])
        at += 1 + string
        left -= 1
    return found


class Client:
    def __init__(self, path, number):
        self.holder, self.grants, self.text = "w%d" % number, 0, b""
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        selector.register(self.socket, selectors.EVENT_READ, self)

    def ask(self):
        self.socket.sendall(request("LEASE", "ACQUIRE", "line", "TTL", "10s", "HOLDER", self.holder, "WAIT", "600s"))

    def join(self):
        self.since = seen
        self.ask()

    def hear(self):
        global seen, worst, longest, last_token, released
        self.text += self.socket.recv(65536)
        reply = scalars(self.text)
        if reply is None:
            return
        self.text = b""
        status = reply[reply.index(b"status") + 1]
        if status == b"granted":
            token = int(reply[reply.index(b"token") + 1])
            if token <= last_token:
                sys.exit("token %d after %d" % (token, last_token))
            last_token, now = token, time.monotonic()
            if released is not None:
                longest = max(longest, now - released)
            self.grants += 1
            worst = max(worst, seen - self.since)
            seen += 1
            released = now
            self.socket.sendall(request("LEASE", "RELEASE", "line", str(token), self.holder))
        elif status == b"released":
            self.join()
        elif status == b"turn":
            self.ask()
        else:
            sys.exit("%s: %r" % (self.holder, reply))


clients = [Client(path, at * count + i) for at, path in enumerate(paths) for i in range(count)]
for client in clients:
    client.join()
if handovers == 0:
    print("waiting", flush=True)
    selector.register(sys.stdin, selectors.EVENT_READ, None)
while handovers == 0 or seen < handovers:
    for key, _ in selector.select():
        if key.data is None:
            sys.exit(0)
        key.data.hear()
worst = max(worst, max(seen - client.since for client in clients))
grants = [client.grants for client in clients]
print(worst, round(longest * 1000), sum(grants), min(grants))
