# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""listen: a server of a member's is reached from elsewhere at the ports that its policy names, and at no other."""
import re

import world
from cases_egress import CLIENT, do, must_do, refusals, served, stage
from cases_tools import WORKSPACE
from harness import (POLICIES, case, compartment, expect, expect_equal, expect_text, mark, must, read, run, wait_for,
                     write)

HERE, HERE6 = "9.8.8.2", "2001:db8::2"
OPEN, SHUT, FROM = 8443, 8444, 8445
LISTEN = f"  listen: [\"{HERE}:{OPEN},{FROM}\", '[{HERE6}]:{OPEN}']\n"
POLICY = CLIENT.replace("  egress:\n", LISTEN + "  egress:\n")
SERVE = "cd .. && (python3 -m http.server --bind {} {} >/dev/null 2>&1 & echo $! >>servers; disown)"
# By a port that is open.
REACH_OUT = f"""\
python3 - <<'END'
import socket
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("{HERE}", {FROM}))
s.connect(("{world.PAGES}", 80))
print("reached")
END
"""


def visits(address, port, *seconds):
    """From elsewhere."""
    host = f"[{address}]" if ":" in address else address
    return run(*world.there("curl", "-sS", "--max-time", *(seconds or ("30",)), "-o", "/dev/null", "-w", "%{http_code}",
                            f"http://{host}:{port}/do.sh"))


def is_served(address, port):
    wait_for(f"{address}:{port} is reached from elsewhere", lambda: visits(address, port).out == "200")


def reload_with(listen):
    write(f"{POLICIES}/server.yaml", POLICY.replace(LISTEN, listen).replace("name: client", "name: server"))
    must("bulkhead", "reload", "server")


@case("egress")
def listens():
    """From elsewhere, from this host and while the policy names it; other ports stay shut, and so does the way out."""
    stage()
    run("rm", "-f", f"{WORKSPACE}/servers")
    with served("server", POLICY):
        must_do(SERVE.format(HERE, SHUT), "free")
        must_do(SERVE.format(HERE, OPEN), "server")
        must_do(SERVE.format(HERE6, OPEN), "server")
        for address, port in ((HERE, SHUT), (HERE, OPEN), (HERE6, OPEN)):
            is_served(address, port)
        expect_equal("from this host", do(f"curl -sS -o /dev/null http://{HERE}:{OPEN}/do.sh", "free").status, 0)
        # Another compartment's member, and a member itself, have no way there.
        expect_equal("another compartment", do(f"curl -sS http://{HERE}:{OPEN}/do.sh").status, 7)

        run("kill", read(f"{WORKSPACE}/servers").splitlines()[0])
        since = mark()
        done = do(f"python3 -m http.server --bind {HERE} {SHUT}", "server")
        expect(done.status and "PermissionError" in done.err, f"another port: {done.text}")
        r = wait_for("its event", lambda: refusals(since, "server", hook="socket_bind"))[0]
        expect_equal("its event", [r["reason"], r["object"]["port"]], ["network", SHUT])

        since, passed = mark(), world.wire()
        must_do(REACH_OUT, "free", "^reached")
        expect(world.packets(passed, f"dst host {world.PAGES}"), "nothing passed")
        passed = world.wire()
        done = do(REACH_OUT, "server")
        expect(done.status and "PermissionError" in done.err, f"out: {done.text}")
        wait_for("its event", lambda: refusals(since, "server", hook="connect4"))
        expect_equal("on the wire", world.packets(passed, f"dst host {world.PAGES}"), [])

        strayed = compartment(name="server")["tally"]["strayed"]
        reload_with(f"  listen: ['[{HERE6}]:{OPEN}']\n")
        expect_equal("after a reload without it", visits(HERE, OPEN, "3").status, 28)
        is_served(HERE6, OPEN)
        expect(compartment(name="server")["tally"]["strayed"] > strayed, "nothing strayed")
        reload_with(LISTEN)
        is_served(HERE, OPEN)
        expect_text("check", must("bulkhead", "check", f"{POLICIES}/server.yaml").out,
                    re.escape(f"{HERE}:{OPEN} {HERE}:{FROM} [{HERE6}]:{OPEN}"))
