# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What attach refuses: each with words of its own, and with nothing changed."""
import os
import subprocess

from harness import (CGROUPS, DROPIN, POLICIES, SECRET, Provider, attach, case, cgroup_of, compartments,
                     confined, expect, expect_equal, expect_text, main_pid, must, provider, read, run, status,
                     wait_for, write, write_policy)


def own_cgroup():
    return CGROUPS + read("/proc/self/cgroup").strip().removeprefix("0::")


def known():
    """Generations of all compartments there are, those too that earlier cases left to be swept: no
    number is given twice."""
    return {c["generation"] for c in status()["compartments"]}


def newer(before):
    """Names of the compartments that came since, in whatever state."""
    return [c["name"] for c in status()["compartments"] if c["generation"] not in before]


def dead_pid():
    child = subprocess.Popen(["true"])
    child.wait()
    return str(child.pid)


def dead_cgroup():
    path = CGROUPS + "/sd-gone"
    os.mkdir(path)
    os.rmdir(path)
    return path


def idle_unit():
    p = Provider("sd-idle")
    p.write()
    return p.unit


# What is asked for -> the words of the refusal.
PLACES = {
    "root cgroup": (lambda: ("--cgroup", CGROUPS), "is the root of all cgroups"),
    "init.scope": (lambda: ("--cgroup", CGROUPS + "/init.scope"), r"holds the init process \(pid 1\)"),
    "process 1": (lambda: ("--pid", "1"), "1 is no process to attach"),
    "own cgroup": (lambda: ("--cgroup", own_cgroup()), r"holds the caller \(pid \d+\)"),
    "agent's slice": (lambda: ("--cgroup", CGROUPS + "/system.slice"), r"holds this agent \(pid \d+\)"),
    "own ancestor": (lambda: ("--pid", str(os.getpid())), r"who asks for this, is a descendant of process"),
    "vanished cgroup": (lambda: ("--cgroup", dead_cgroup()), "sd-gone: No such file"),
    "not a cgroup": (lambda: ("--cgroup", "/tmp"), "not a cgroup v2 directory"),
    "ended process": (lambda: ("--pid", dead_pid()), r"process \d+: No such process"),
    "unknown unit": (lambda: ("--unit", "sd-nowhere.service"), r"sd-nowhere\.service: systemd knows no such unit"),
    "unit not running": (lambda: ("--unit", idle_unit()), r"sd-idle\.service is not running"),
    "not a service": (lambda: ("--unit", "dbus.socket"), "not the name of a service"),
    "unknown template": (lambda: ("--unit", "sd-nowhere@.service"), "no instance is running"),
}


@case("refuse")
def places():
    """Places that cannot be attached: a refusal each, all different, and no compartment after."""
    policy, told, before = write_policy("places"), {}, known()
    for name, (where, says) in PLACES.items():
        error = attach(policy, *where(), says=says)
        told.setdefault(error, []).append(name)
    wrong = run("bulkhead", "attach", policy, "--pid", "12x")
    expect_equal("status of wrong usage", wrong.status, 2)
    expect_text("wrong usage", wrong.err, '"12x" is no process id')
    expect_equal("refusals with the same words", [names for names in told.values() if len(names) > 1], [])
    expect_equal("compartments", newer(before), [])


@case("refuse")
def session():
    """A login session's scope is refused, and everything above it."""
    policy, before = write_policy("session"), known()
    scope = subprocess.Popen(["systemd-run", "--quiet", "--scope", "--slice=user-1000.slice",
                              "--unit=session-77.scope", "cat"], stdin=subprocess.PIPE)
    path = CGROUPS + "/user.slice/user-1000.slice/session-77.scope"
    try:
        wait_for("the session's scope", lambda: read(path + "/cgroup.procs"))
        for where in (path, os.path.dirname(path), CGROUPS + "/user.slice"):
            attach(policy, "--cgroup", where, says="session-77.scope is a login session")
        expect_equal("compartments", newer(before), [])
    finally:
        scope.stdin.close()
        scope.wait(30)


@case("refuse")
def overlap():
    """One policy a process: what holds an attached subtree, what is inside of one, and the very same."""
    before = known()
    with confined("overlap", "Slice=sd-over.slice\nDelegate=yes") as p:
        top = cgroup_of(p.unit)
        os.mkdir(top + "/inner")
        policy = write_policy("overlap-other")
        rows = (
            (("--cgroup", os.path.dirname(top)), r"sd-over\.slice holds compartment \d+"),
            (("--cgroup", top + "/inner"), r"inner is inside compartment \d+"),
            (("--cgroup", top), "attached already, as compartment"),
            (("--unit", p.unit), "attached already, as compartment"),
        )
        for where, says in rows:
            attach(policy, *where, says=says)
        expect_equal("names of the compartments", newer(before), ["overlap"])
        p.is_confined()
        os.rmdir(top + "/inner")


def leaves_no_trace(p, policy, says):
    """A refused attach of a running unit: free as before, not bound, not frozen."""
    error = attach(policy, "--unit", p.unit, says=says)
    p.is_free()
    expect(not os.path.exists(DROPIN % p.unit), "a drop-in is there")
    expect_equal("compartments", compartments(unit=p.unit), [])
    expect_equal("cgroup.freeze", read(cgroup_of(p.unit) + "/cgroup.freeze").strip(), "0")
    return error


@case("refuse")
def held_descriptor():
    """existing: refuse names process, descriptor and path of what it already holds, and changes
    nothing; existing: report attaches and tells the same."""
    with provider("held") as p:
        fd, pid = p.ask("hold", SECRET)["fd"], main_pid(p.unit)
        names = rf"pid {pid} \(python3\) fd {fd}: read {SECRET}: no rule allows it"
        leaves_no_trace(p, write_policy("held"), names)
        policy = write_policy("held", existing="{default: report, keep: [stdio, journal, notify]}")
        out = attach(policy, "--unit", p.unit)
        expect_text("attach with existing: report", out, "note: " + names)
        p.is_confined()
        # What was reported is what goes on working: that is why a person must see it.
        expect_equal("a read of the held descriptor", p.ask("read-held")["error"], "")


@case("refuse")
def revoked_descriptor():
    """existing: revoke takes it away, and says so: at the attach, in status, in the event of its use."""
    with provider("revoked") as p:
        fd, pid = p.ask("hold", SECRET)["fd"], main_pid(p.unit)
        names = rf"pid {pid} \(python3\) fd {fd}: read {SECRET}: no rule allows it"
        expect_equal("a read before the attach", p.ask("read-held")["error"], "")
        policy = write_policy("revoked", existing="{default: revoke, keep: [stdio, journal, notify]}")
        out = attach(policy, "--unit", p.unit)
        expect_text("attach with existing: revoke", out, "note: revoked: " + names)
        p.is_confined()
        expect_equal("a read of the held descriptor", p.ask("read-held")["error"], "EACCES")
        expect_text("status", must("bulkhead", "status").out, names)
        expect_text("events", must("bulkhead", "events").out,
                    rf"read {SECRET} by descriptor {fd} refused \(EACCES\): it was open before the policy")


# What is held as standard input -> the words of the refusal.
POWERS = {
    "namespace": r"fd 0: net:\[\d+\]: a namespace to enter",
    "pidfd": r"fd 0: anon_inode:\[pidfd\]|fd 0: pidfd:.*: the process it stands for is outside",
    "bpf": r"fd 0: anon_inode:bpf-map: it is part of the kernel's programs",
}


@case("refuse")
def held_power():
    """keep: [stdio] keeps files and streams, not what gives power over others or the kernel."""
    with provider("power") as p:
        policy = write_policy("power", existing="{default: refuse, keep: [stdio, journal, notify]}")
        for power, says in POWERS.items():
            expect_equal(f"taking a {power}", p.ask("stdin", power)["error"], "")
            leaves_no_trace(p, policy, says)
        expect_equal("taking a file", p.ask("stdin", "file")["error"], "")
        out = attach(policy, "--unit", p.unit)
        expect_text("a file as standard input", out, rf"note: pid \d+ \(python3\) fd 0: kept \(stdio\): read {SECRET}")
        p.is_confined()


@case("refuse")
def traced_outsider():
    """Who traces a process outside could go on doing so: it must let go first."""
    outsider = subprocess.Popen(["sleep", "600"])
    try:
        with provider("tracer") as p:
            policy = write_policy("tracer")
            expect_equal("tracing", p.ask("trace", outsider.pid)["error"], "")
            leaves_no_trace(p, policy, rf"pid \d+ \(python3\) traces process {outsider.pid}, which is outside")
            expect_equal("letting go", p.ask("let-go", outsider.pid)["error"], "")
            attach(policy, "--unit", p.unit)
            p.is_confined()
            expect_equal("tracing from inside", p.ask("trace", outsider.pid)["error"], "EPERM")
    finally:
        outsider.kill()
        outsider.wait()


@case("refuse")
def policies():
    """A policy that does not load, or that others than root could write, attaches nothing."""
    with provider("policies") as p:
        good = read(write_policy("policies"))

        def changed(name, text, uid=0, mode=0o644):
            path = f"{POLICIES}/{name}.yaml"
            write(path, text, mode)
            os.chown(path, uid, 0)
            return path

        # file -> the words of the refusal
        rows = (
            (changed("corrupt", good.replace("mode: enforce", "mode: [")), r"corrupt\.yaml:\d+"),
            (changed("unknown", good.replace("proc: self", "prok: self")), r"unknown\.yaml:\d+:\d+: .*prok"),
            (changed("binary", "\x00\x01" * 40), r"binary\.yaml"),
            (changed("empty", ""), r"empty\.yaml"),
            (changed("foreign", good, uid=1000), r"owned by uid 1000.*chown root"),
            (changed("group", good, mode=0o664), r"others than root may write.*chmod go-w"),
            (changed("world", good, mode=0o666), r"others than root may write.*chmod go-w"),
            (f"{POLICIES}/nowhere.yaml", "nowhere.yaml: No such file"),
        )
        for path, says in rows:
            attach(path, "--unit", p.unit, says=says)
        leaves_no_trace(p, rows[0][0], rows[0][1])
        attach(f"{POLICIES}/policies.yaml", "--unit", p.unit)
        p.is_confined()
