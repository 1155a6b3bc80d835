# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Hosts that cannot enforce: they say what is missing and what to do, and pretend nothing."""
import os
import time

from harness import (AGENT, DROPIN, agent_is_back, agent_stop, attach, case, compartments, confined, dropin,
                     expect, expect_equal, expect_text, journal, must, provider, refused, run, unit_is,
                     write, write_policy)

RECORDS = "/run/bulkhead/compartments"
UNABLE = 3  # doctor's status


def unable(need, remedy):
    """The agent does not get ready, attach and run refuse, doctor tells the remedy."""
    since = time.time()
    policy = write_policy("unable")
    expect(run("systemctl", "start", AGENT).status != 0, "the agent's unit starts")
    expect(not unit_is(AGENT, "active"), "the agent's unit is active")
    run("systemctl", "stop", AGENT)  # no more tries
    expect_text("the agent's log", journal(AGENT, since), f"cannot enforce: {need} is missing: {remedy}")
    attach(policy, "--pid", str(os.getpid()), says="no agent is running")
    refused("bulkhead", "run", policy, "--", "/usr/bin/python3", "-c", "print('it ran')",
            says=f"{need} is missing: {remedy}", status=125)
    doctor = run("bulkhead", "doctor")
    expect_equal("doctor's status", doctor.status, UNABLE)
    expect_text("doctor", doctor.out, rf"{need} +missing +{remedy}")
    expect_text("doctor", doctor.out, "This host cannot enforce.")


@case("no-bpf")
def lsm_list_without_bpf():
    """Booted without bpf in the list of security modules."""
    unable("bpf LSM", "add bpf to the LSM list")


@case("cgroup-v1")
def cgroup_v1():
    """Booted with the first version of the hierarchy alone."""
    unable("cgroup v2", "mount cgroup v2")


@case("hybrid")
def cgroup_hybrid():
    """Booted with both versions of the hierarchy: units stand in the second one too, without its
    controllers, and that is all that confinement needs."""
    must("systemctl", "start", AGENT)
    with confined("hybrid") as p:
        p.is_confined()
        must("systemctl", "restart", p.unit)
        p.wait()
        p.is_confined()
    agent_stop()
    refused("bulkhead", "run", write_policy("limited"), "--", "/usr/bin/python3", "-c", "print('it ran')",
            says='cgroup v2 has no controller "pids"', status=125)


@case("lacking")
def full_run_directory():
    """An attach that cannot be recorded is none; when there is room, it is one."""
    with provider("full") as p:
        policy = write_policy("full")
        must("mount", "-t", "tmpfs", "-o", "size=4k,mode=700", "none", RECORDS)
        try:
            write(RECORDS + "/filler", "x" * 4096)
            attach(policy, "--unit", p.unit, says="No space left on device")
            p.is_free()
            expect_equal("compartments", compartments(name="full"), [])
            expect(not os.path.exists(DROPIN % p.unit), "a drop-in is there")
        finally:
            must("umount", RECORDS)
        attach(policy, "--unit", p.unit)
        p.is_confined()


@case("lacking")
def lacking_capability():
    """The agent and `run` without CAP_SYS_ADMIN say so; with it, the same commands work."""
    policy = write_policy("lacking")
    lacking = ("setpriv", "--bounding-set=-sys_admin")
    hello = ("bulkhead", "run", policy, "--", "/usr/bin/python3", "-c", "print('it ran')")
    says = "this needs privileges: run with CAP_SYS_ADMIN, which is missing"
    refused(*lacking, "bulkheadd", says=says)
    refused(*lacking, *hello, says=says, status=125)
    expect(run(*lacking, "bulkhead", "doctor").status != 0, "doctor finds nothing missing")
    since = time.time()
    with dropin(AGENT, "[Service]\nRestart=no\nCapabilityBoundingSet=~CAP_SYS_ADMIN\n"):
        must("systemctl", "stop", AGENT)
        expect(run("systemctl", "start", AGENT).status != 0, "the agent starts without the capability")
        expect_text("its log", journal(AGENT, since), says)
    agent_is_back()
    expect_text("run with it", must(*hello).out, "it ran")
