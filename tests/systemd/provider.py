# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A provider: a long-running program that does on request what a compromised one would try.

usage: provider.py SOCKET    serves one line of words a connection on a unix socket
       provider.py -         serves lines on descriptors 0 and 1, as an Accept=yes socket starts it

Every request is answered by one JSON object: {"error": "EACCES"}, or "" for what went through.
"""
import ctypes
import errno
import json
import os
import signal
import socket
import struct
import sys
import threading
import time

HELD = []
RECORD = struct.Struct("qq")
storm = None  # (pid, read end of the pipe its children write to)


def name_of(code):
    return errno.errorcode.get(code, str(code)) if code else ""


def attempt(function, *arguments):
    """errno of a call, 0 when it went through."""
    try:
        function(*arguments)
    except OSError as e:
        return e.errno
    return 0


def read_file(path):
    with open(path, "rb", buffering=0) as f:
        f.read(16)


def in_child(function, *arguments):
    pid = os.fork()
    if pid == 0:
        os._exit(attempt(function, *arguments))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class Threads:
    """Threads that exist before an attach, and each try when told to."""

    def __init__(self):
        self.threads, self.results, self.path = [], [], None
        self.start = self.end = None

    def make(self, n):
        self.start, self.end = threading.Barrier(n + 1), threading.Barrier(n + 1)
        self.results = [None] * n
        self.threads = [threading.Thread(target=self.work, args=(i,), daemon=True) for i in range(n)]
        for t in self.threads:
            t.start()

    def work(self, i):
        while True:
            self.start.wait()
            self.results[i] = name_of(attempt(read_file, self.path))
            self.end.wait()

    def read(self, path):
        self.path = path
        self.start.wait()
        self.end.wait()
        return self.results


THREADS = Threads()


def storm_child(path, pipe):
    now = time.monotonic_ns()
    code = attempt(read_file, path)
    os.write(pipe, RECORD.pack(now, code))
    os._exit(0)


def storm_run(path, pipe):
    """Children without end, up to eight alive; a fork that is refused is a record too."""
    alive = 0
    while True:
        try:
            pid = os.fork()
        except OSError as e:
            os.write(pipe, RECORD.pack(0, -e.errno))
            continue
        if pid == 0:
            storm_child(path, pipe)
        alive += 1
        while alive >= 8:
            os.wait()
            alive -= 1


def storm_start(path):
    global storm
    r, w = os.pipe()
    os.set_blocking(r, False)
    pid = os.fork()
    if pid == 0:
        os.close(r)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        storm_run(path, w)
    os.close(w)
    storm = (pid, r)


def storm_records():
    records = []
    while True:
        try:
            data = os.read(storm[1], RECORD.size * 4096)
        except BlockingIOError:
            return records
        if not data:
            return records
        records += [[at, code] for at, code in RECORD.iter_unpack(data)]


def hold(path):
    HELD.append(os.open(path, os.O_RDONLY))


LIBC = ctypes.CDLL(None, use_errno=True)
PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
SYS_BPF = {"x86_64": 321, "aarch64": 280}[os.uname().machine]


def checked(value):
    if value < 0:
        raise OSError(ctypes.get_errno(), "")
    return value


def ptrace(request, pid):
    checked(LIBC.ptrace(request, pid, None, None))


def let_go(pid):
    """A tracee must be stopped to be let go."""
    ptrace(PTRACE_INTERRUPT, pid)
    os.waitpid(pid, 0x40000000)  # __WALL
    ptrace(PTRACE_DETACH, pid)


def bpf_map():
    """An array of one u32."""
    attr = struct.pack("IIII", 2, 4, 4, 1).ljust(128, b"\0")
    return checked(LIBC.syscall(SYS_BPF, 0, attr, len(attr)))


# Power over others or the kernel, as a descriptor.
POWERS = {
    "namespace": lambda: os.open("/proc/1/ns/net", os.O_RDONLY),
    "pidfd": lambda: os.pidfd_open(1),
    "bpf": bpf_map,
    "file": lambda: os.open("/srv/sd/secret/token", os.O_RDONLY),
    "null": lambda: os.open("/dev/null", os.O_RDONLY),
}


def take_stdin(power):
    fd = POWERS[power]()
    os.dup2(fd, 0)
    os.close(fd)


def talk(path, line):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(20)
        s.connect(path)
        s.sendall(line.encode() + b"\n")
        answer = s.makefile().readline()
    return json.loads(answer)


def spray(path, n):
    last = 0
    for _ in range(n):
        last = attempt(read_file, path)
    return last


def handle(words):
    what, rest = words[0], words[1:]
    if what == "read":
        return {"error": name_of(attempt(read_file, rest[0]))}
    if what == "child-read":
        return {"error": name_of(in_child(read_file, rest[0]))}
    if what == "exec":
        return {"error": name_of(in_child(os.execv, rest[0], rest))}
    if what == "spray":
        return {"error": name_of(spray(rest[0], int(rest[1])))}
    if what == "hold":
        return {"error": name_of(attempt(hold, rest[0])), "fd": HELD[-1] if HELD else -1}
    if what == "read-held":
        return {"error": name_of(attempt(os.pread, HELD[-1], 16, 0))}
    if what == "stdin":
        return {"error": name_of(attempt(take_stdin, rest[0]))}
    if what == "trace":
        return {"error": name_of(attempt(ptrace, PTRACE_SEIZE, int(rest[0])))}
    if what == "let-go":
        return {"error": name_of(attempt(let_go, int(rest[0])))}
    if what == "threads":
        THREADS.make(int(rest[0]))
        return {"error": ""}
    if what == "threads-read":
        return {"errors": THREADS.read(rest[0])}
    if what == "storm":
        storm_start(rest[0])
        return {"error": "", "pid": storm[0]}
    if what == "storm-records":
        return {"records": storm_records()}
    if what == "fork-provider":
        pid = os.fork()
        if pid == 0:
            os.execv(sys.executable, [sys.executable, "-u", __file__, rest[0]])
        return {"error": "", "pid": pid}
    if what == "ask-agent":
        try:
            return {"error": "", "answer": talk("/run/bulkhead/control.sock", " ".join(rest))}
        except OSError as e:
            return {"error": name_of(e.errno)}
    if what == "pid":
        return {"error": "", "pid": os.getpid()}
    return {"error": "EINVAL"}


def answer(line):
    return (json.dumps(handle(line.split())) + "\n").encode()


def serve_socket(path):
    if attempt(os.unlink, path) not in (0, errno.ENOENT):
        sys.exit("cannot remove " + path)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(16)
    while True:
        client, _ = listener.accept()
        with client:
            line = client.makefile().readline()
            if line.strip():
                client.sendall(answer(line))


def serve_stdio():
    for line in sys.stdin:
        sys.stdout.buffer.write(answer(line))
        sys.stdout.flush()


if __name__ == "__main__":
    if sys.argv[1] == "-":
        serve_stdio()
    else:
        serve_socket(sys.argv[1])
