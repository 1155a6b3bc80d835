# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tripwires under a real unit: all of it ends, and the next start is confined anew."""
import contextlib
import os
import subprocess

from harness import (TOP, Failed, agent_start, agent_stop, attach, case, cgroup_of, compartment, compartments, event, expect,
                     expect_equal, expect_text, line_of, main_pid, mark, provider, read, run, unit_show,
                     wait_for, write, write_policy)

BAIT = TOP + "/work/bait/passwords"
ALONE = "KillMode=process"  # systemd leaves the rest to us


def policy_with_bait(name):
    path = write_policy(name)
    bait = f'  - {{tripwire: [read, write], on: ["{TOP}/work/bait/**"]}}\n'
    write(path, read(path).replace("files:\n", "files:\n" + bait))
    write(BAIT, "synthetic\n")
    return path


@contextlib.contextmanager
def sleeper(unit):
    """A process in the unit that does nothing, so that no hook ever meets it."""
    with subprocess.Popen(["sleep", "infinity"]) as process:
        try:
            with open(cgroup_of(unit) + "/cgroup.procs", "w", encoding="utf-8") as f:
                f.write(str(process.pid))
            yield process
        finally:
            process.kill()


def touch(p):
    """The provider reads it: no answer comes from who is dead."""
    try:
        answer = p.ask("read", BAIT)
    except (OSError, ValueError):
        return
    raise Failed(f"the provider lives: {answer}")


def ended_by_kill(p):
    wait_for("the unit's end", lambda: unit_show(p.unit, "ActiveState") == "failed")
    expect_equal("how it ended", unit_show(p.unit, "Result"), "signal")


@case("trip")
def all_of_it_ends():
    """The toucher, and who sleeps through it; the event has the rule; the next start is confined."""
    file = policy_with_bait("trip")
    with provider("trip", ALONE) as p:
        expect_equal("the bait, free", p.read(BAIT), "")
        attach(file, "--unit", p.unit)
        p.is_confined()
        expect_text("explain", run("bulkhead", "explain", file, "--path", BAIT, "--op", "read").out,
                    rf"refused by the tripwire {TOP}/work/bait/\*\*.*which ends the compartment")
        with sleeper(p.unit) as process:
            before, since = compartment(name="trip")["id"], mark()
            touch(p)
            wait_for("the sleeper's end", lambda: process.poll() is not None)
            expect_equal("the sleeper's end", process.returncode, -9)
        ended_by_kill(p)
        told = event(since, BAIT)
        expect_equal("verdict and reason", (told["verdict"], told["reason"]), ("tripwire", "tripwire"))
        expect_equal("the rule", (told["rule"]["effect"], told["rule"]["line"]), ("tripwire", line_of(file, "tripwire")))
        expect_text("message", told["message"], rf"refused \(EACCES\), tripwire: the compartment is killed by {TOP}/work/bait")
        p.start()
        p.is_confined()
        expect(compartment(name="trip")["id"] != before, "the unit's next start is in the compartment that was killed")


@case("trip")
def without_an_agent():
    """With the agent dead the kernel kills who does anything; the agent, back, kills the rest."""
    file = policy_with_bait("trip-alone")
    with provider("trip-alone", ALONE) as p:
        attach(file, "--unit", p.unit)
        with sleeper(p.unit) as process:
            pid = main_pid(p.unit)
            agent_stop()
            touch(p)
            wait_for("the provider's end", lambda: not os.path.exists(f"/proc/{pid}"))
            expect_equal("the sleeper", process.poll(), None)
            expect_equal("state", [c["state"] for c in compartments(name="trip-alone")], ["tripped"])
            agent_start()
            wait_for("the sleeper's end", lambda: process.poll() is not None)
            expect_equal("the sleeper's end", process.returncode, -9)
