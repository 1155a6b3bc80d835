# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The agent as a unit: when it is ready, and what holds when it is gone."""
import json
import os
import signal
import time

from harness import (AGENT, DENIED, DROPIN, SECRET, agent_is_back, agent_start, attach, case, compartment,
                     confined, dropin, event, expect, expect_equal, expect_text, journal, main_pid, mark,
                     must, provider, refused, run, unit_is, unit_show, wait_for, write_policy)


# What the guest's clock may be stepped by between the two readings.
CLOCK_STEP_US = 100000


def utc(us):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(us // 10**6)) + f".{us % 10**6:06}Z"


@case("agent")
def ready_after_canary():
    """READY comes after a refusal on every hook, and doctor agrees."""
    expect(not unit_is(AGENT, "active"), "the agent runs before it was started")
    agent_start()
    expect(unit_is(AGENT, "active"), "not active after start")
    lines = must("bulkhead", "events", "--json", "--scratch").out.splitlines()
    proofs = [r for r in map(json.loads, lines) if r.get("verdict") == "refused"]
    expect(len(proofs) >= 25, f"only {len(proofs)} refusals were seen before READY")
    # Seconds of the clock that both sides stamp with, to the microsecond.
    ready = unit_show(AGENT, "ActiveEnterTimestampMonotonic")
    offset = time.time_ns() // 1000 - time.monotonic_ns() // 1000
    ready_text = utc(int(ready) + offset + CLOCK_STEP_US)
    late = [r["hook"] for r in proofs if r["time"] > ready_text]
    expect(not late, f"canary refusals came after READY: {late}")
    report = json.loads(must("bulkhead", "doctor", "--json").out)
    expect_equal("doctor's verdict", report["verdict"], "proved")
    expect_text("status", must("bulkhead", "status").out, "nothing is attached")


@case("agent")
def no_ready_without_proof():
    """A canary whose attempt never reaches our hook (a seccomp filter is first, with the errno that
    the hook would give) keeps the agent from READY."""
    since = time.time()
    must("systemctl", "stop", AGENT)
    with dropin(AGENT, "[Service]\nRestart=no\nSystemCallFilter=~get_robust_list\nSystemCallErrorNumber=EPERM\n"):
        result = run("systemctl", "start", AGENT)
        expect(result.status != 0, "it started")
        expect(not unit_is(AGENT, "active"), "active without a proof")
        expect_text("its log", journal(AGENT, since), r"canary: .*ptrace.*counter did not move")
        refused("bulkhead", "attach", write_policy("unproved"), "--cgroup", "/sys/fs/cgroup/init.scope",
                says="no agent is running")
    agent_is_back()
    expect(unit_is(AGENT, "active"), "not active without the filter")


@case("agent", seconds=120)
def killed_agent():
    """kill -9: what is attached stays enforced, new attaches are refused; the next agent finds the
    same compartment, tells what happened meanwhile, and goes on."""
    with confined("killed") as p, provider("killed-other") as other:
        before = compartment(unit=p.unit)
        pid = main_pid(AGENT)
        # Masked, or its unit would start it again before anything is tried.
        must("systemctl", "mask", "--runtime", AGENT)
        os.kill(pid, signal.SIGKILL)
        wait_for("the agent's end", lambda: not os.path.exists(f"/proc/{pid}"))
        since = mark()
        p.is_confined()
        other.is_free()
        attach(write_policy("killed-new"), "--unit", other.unit, says="no agent is running")
        other.is_free()
        expect(not os.path.exists(DROPIN % other.unit), "a refused attach left a drop-in")
        must("systemctl", "unmask", "--runtime", AGENT)
        agent_start()
        after = compartment(unit=p.unit)
        for field in ("id", "cgroup", "state", "generation"):
            expect_equal(f"{field} of the compartment that was found", after[field], before[field])
        expect_equal("refusals while no agent ran", after["tally"]["refused"],
                     before["tally"]["refused"] + 2)
        event(since, SECRET, name="killed")
        since = mark()
        expect_equal("a read after that", p.read(DENIED), "EACCES")
        event(since, DENIED, name="killed")


@case("agent")
def start_needs_agent():
    """A bound unit whose agent cannot run does not start: its program is never run at all."""
    with confined("needs") as p:
        must("systemctl", "stop", p.unit)
        starts = len(p.firsts())
        must("systemctl", "stop", AGENT)
        with dropin(AGENT, "[Service]\nRestart=no\nExecStart=\nExecStart=/bin/false\n"):
            expect(run("systemctl", "start", p.unit).status != 0, "started with an agent that fails")
            expect(not unit_is(p.unit, "active"), "active with an agent that fails")
        must("systemctl", "mask", "--runtime", AGENT)
        expect(run("systemctl", "start", p.unit).status != 0, "started with the agent masked")
        expect(not unit_is(p.unit, "active"), "active with the agent masked")
        must("systemctl", "unmask", "--runtime", AGENT)
        expect_equal("starts of the program without an agent", len(p.firsts()) - starts, 0)
        # The control: the same start pulls in an agent that was merely stopped.
        expect(not unit_is(AGENT, "active"), "an agent runs that nobody started")
        must("systemctl", "reset-failed", p.unit, AGENT)
        p.start()
        expect(unit_is(AGENT, "active"), "the unit's start did not start the agent")
        p.is_confined()
        expect_equal("first open of the start with an agent", p.firsts()[-1][1], 13)
