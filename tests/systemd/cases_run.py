# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""bulkhead run under a real systemd: who keeps its deadline, and what is left of it."""
import contextlib
import os
import re
import signal
import subprocess

from harness import CGROUPS, case, expect, expect_equal, expect_text, must, read, run, wait_for, write_policy

OWN = CGROUPS + "/bulkhead"
SLEEPER = "import os, time; os.setsid() if os.fork() == 0 else 0; time.sleep(1000)"


def cgroup_of_run(name):
    entries = os.listdir(OWN) if os.path.isdir(OWN) else []
    found = [f"{OWN}/{entry}" for entry in entries if entry.startswith(name + "-")]
    return found[0] if found else None


def members(path):
    return [int(pid) for pid in read(path + "/cgroup.procs").split()] if path and os.path.exists(path) else []


def timers(name):
    listed = run("systemctl", "list-units", "--all", "--plain", "--no-legend", f"bulkhead-deadline-{name}-*").out
    return re.findall(r"^\S+", listed, re.M)


@contextlib.contextmanager
def started(name, deadline):
    policy = write_policy(name)
    with subprocess.Popen(["bulkhead", "run", policy, "--deadline", deadline, "--", "/usr/bin/python3", "-c", SLEEPER],
                          stdin=subprocess.DEVNULL) as process:
        try:
            wait_for("its two processes run", lambda: len(members(cgroup_of_run(name))) == 2)
            yield process
        finally:
            process.kill()


@case("run", seconds=200)
def everybody_killed():
    """Who supervises and the watchdog are killed: the service manager has the deadline, and keeps it."""
    with started("deadline", "20s") as process:
        path = cgroup_of_run("deadline")
        wait_for("the timer", lambda: timers("deadline"))
        timer = next(unit for unit in timers("deadline") if unit.endswith(".timer"))
        expect_text("when it will act", must("systemctl", "show", timer, "-p", "NextElapseUSecMonotonic").out, r"=\d")
        process.kill()
        process.wait()
        for pid in members(OWN + "/watchdogs"):
            os.kill(pid, signal.SIGKILL)
        expect_equal("members, before the deadline", len(members(path)), 2)
        wait_for("the end by the deadline", lambda: not members(path), seconds=90)
    must("bulkhead", "run", write_policy("next"), "--", "/usr/bin/python3", "-c", "print('it ran')")
    expect(not os.path.exists(path), f"{path} is left")
    wait_for("no unit is left", lambda: not timers("deadline"))


@case("run", seconds=120)
def ends_by_itself():
    """No timer, no watchdog and no cgroup is left of it, and the report can be read."""
    report = "/tmp/report.json"
    must("bulkhead", "run", write_policy("itself"), "--report", report, "--", "/usr/bin/python3", "-c", "print('it ran')")
    expect_text("the report", read(report), r'"reason":"exit","status":0')
    expect_equal("its units", timers("itself"), [])
    expect_equal("its cgroup", cgroup_of_run("itself"), None)
    expect_equal("watchdogs", members(OWN + "/watchdogs"), [])


@case("run", seconds=120)
def cancelled():
    """SIGTERM to it is for all of the command."""
    with started("cancelled", "100s") as process:
        path = cgroup_of_run("cancelled")
        process.terminate()
        expect_equal("its status", process.wait(timeout=60), 128 + signal.SIGTERM)
        expect(not os.path.exists(path), f"{path} is left")
        expect_equal("its units", timers("cancelled"), [])
