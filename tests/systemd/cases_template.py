# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Instances of a template that a socket starts, one a connection."""
import contextlib
import json
import os
import socket

from harness import (DENIED, OPEN, SECRET, TOP, UNITS, attach, case, compartments, daemon_reload, expect,
                     expect_equal, expect_text, must, read, run, wait_for, write, write_policy)

PATH = "/run/sd-template.sock"
RESULT = f"{TOP}/work/template.first"

SOCKET = f"""\
[Socket]
ListenStream={PATH}
Accept=yes
"""

SERVICE = f"""\
[Unit]
CollectMode=inactive-or-failed
[Service]
ExecStart={TOP}/lib/first {SECRET} {RESULT} /usr/bin/python3 -u {TOP}/lib/provider.py -
StandardInput=socket
StandardOutput=socket
StandardError=journal
"""


class Instance:
    """A connection, and the instance at its other end."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(PATH)
        self.file = self.socket.makefile()

    def ask(self, *words):
        self.socket.sendall((" ".join(words) + "\n").encode())
        line = self.file.readline()
        expect(line, f"an instance hung up at {words}")
        return json.loads(line)

    def reads(self):
        return [self.ask("read", path)["error"] for path in (SECRET, DENIED, OPEN)]

    def close(self):
        self.file.close()
        self.socket.close()


@contextlib.contextmanager
def template():
    write(f"{UNITS}/sd-template.socket", SOCKET)
    write(f"{UNITS}/sd-template@.service", SERVICE)
    daemon_reload()
    must("systemctl", "start", "sd-template.socket")
    open_ = []
    try:
        yield open_
    finally:
        run("bulkhead", "detach", "--unit", "sd-template@.service")
        for instance in open_:
            instance.close()
        run("systemctl", "stop", "sd-template.socket", "sd-template@*.service")
        os.unlink(f"{UNITS}/sd-template.socket")
        os.unlink(f"{UNITS}/sd-template@.service")
        daemon_reload()


def last_first():
    return int(read(RESULT).splitlines()[-1].split()[1])


@case("template")
def template_instances():
    """attach --unit of a template takes every instance that runs, each in a compartment of its own,
    and later instances start inside; after detach, they do not."""
    with template() as instances:
        instances += [Instance(), Instance()]
        for instance in instances:
            expect_equal("reads of an instance before", instance.reads(), ["", "", ""])
        attach(write_policy("template"), "--unit", "sd-template@.service")
        expect_equal("compartments", len(compartments(name="template")), 2)
        for instance in instances:
            expect_equal("reads of a running instance", instance.reads(), ["EACCES", "EACCES", ""])

        late = Instance()
        instances.append(late)
        expect_equal("reads of a later instance", late.reads(), ["EACCES", "EACCES", ""])
        expect_equal("first open of a later instance", last_first(), 13)
        expect_equal("compartments", len(compartments(name="template")), 3)

        instances.remove(late)
        late.close()
        wait_for("the end of a compartment whose instance ended",
                 lambda: len(compartments(name="template")) == 2)

        one = compartments(name="template")[0]
        expect_text("detach of one instance", must("bulkhead", "detach", str(one["id"])).out,
                    r"sd-template@\.service: stays bound")
        expect_equal("compartments", len(compartments(name="template")), 1)

        expect_text("detach of one that does not run",
                    run("bulkhead", "detach", "--unit", "sd-template@none.service").err,
                    r"sd-template@none\.service: it does not run, and is bound by sd-template@\.service: bulkhead detach "
                    r"--unit sd-template@\.service releases all")
        must("bulkhead", "detach", "--unit", "sd-template@.service")
        expect_equal("compartments after detach", compartments(name="template"), [])
        free = Instance()
        instances.append(free)
        expect_equal("reads of an instance after detach", free.reads(), ["", "", ""])
        expect_equal("first open of an instance after detach", last_first(), 0)
