# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""attach --unit: a unit that runs, and each of its next starts."""
import os
import signal

from harness import (DENIED, DROPIN, OPEN, SECRET, attach, case, cgroup_of, compartment, compartments, confined, dropin,
                     event, expect, expect_equal, expect_text, line_of, main_pid, mark, must,
                     provider, read, refused, run, status, unit_is, wait_for, write, write_policy)

EACCES = 13


@case("unit")
def attach_running():
    """A running provider is confined where it stands: the read that worked is refused, by us, and
    the record names rule, path and process; its sibling's same read goes on working."""
    policy = write_policy("running")
    with provider("running") as p, provider("sibling") as sibling, confined("bystander") as bystander:
        pid = main_pid(p.unit)
        p.is_free()
        p.ask("threads", 3)
        unmoved = compartment(unit=bystander.unit)["tally"]
        out = attach(policy, "--unit", p.unit)
        expect_text("attach", out, rf"running +enforced +enforce +1 .*{p.unit}")
        expect_equal("main pid after the attach", main_pid(p.unit), pid)

        since = mark()
        p.is_confined()
        expect_equal("errnos of threads from before", p.ask("threads-read", SECRET)["errors"], ["EACCES"] * 3)
        expect_equal("a child's read", p.ask("child-read", SECRET)["error"], 'EACCES')
        expect_equal("exec of what is not listed", p.ask("exec", "/usr/bin/id")["error"], "EACCES")
        expect_equal("refusals counted", compartment(unit=p.unit)["tally"]["refused"], 7)

        denied = event(since, DENIED, name="running")
        expect_equal("its errno", denied["errno"], "EACCES")
        expect_equal("its rule's effect", denied["rule"]["effect"], "deny")
        expect_equal("its rule's file", denied["rule"]["file"], policy)
        expect_equal("its rule's line", denied["rule"]["line"], line_of(policy, "work/private"))
        expect_equal("its process", denied["subject"]["tgid"], pid)
        expect_equal("its comm", denied["subject"]["comm"], "python3")
        unlisted = event(since, SECRET, name="running")
        expect_text("the other's message", unlisted["message"], "no rule of the policy allows it")

        sibling.is_free()
        expect_equal("compartments of the sibling", compartments(unit=sibling.unit), [])
        expect_equal("tally of another compartment", compartment(unit=bystander.unit)["tally"], unmoved)


@case("unit")
def restart_inside():
    """systemctl restart: the program's very first open is refused already; a sibling's is not."""
    with confined("restart") as p, provider("restart-sibling") as sibling:
        expect_equal("first open before the attach", p.firsts()[-1][1], 0)
        first = main_pid(p.unit)
        since = mark()
        for unit in (p, sibling):
            must("systemctl", "restart", unit.unit)
            unit.wait()
        pid = main_pid(p.unit)
        expect(pid != first, "not restarted")
        expect_equal("first open after the restart", p.firsts()[-1], [pid, EACCES])
        expect_equal("the sibling's", sibling.firsts()[-1][1], 0)
        p.is_confined()
        sibling.is_free()
        first_event = event(since, SECRET)
        expect_equal("the first record's process", first_event["subject"]["tgid"], pid)
        expect_equal("the first record's program", first_event["subject"]["comm"], "first")
        expect_equal("compartments of the unit", len(compartments(unit=p.unit)), 1)


@case("unit")
def crash_inside():
    """kill -9 of the main process under Restart=always: the next one begins inside."""
    with confined("crash", "Restart=always\nRestartSec=100ms") as p:
        for _ in range(2):
            starts, pid = len(p.firsts()), main_pid(p.unit)
            os.kill(pid, signal.SIGKILL)
            wait_for("another start", lambda: len(p.firsts()) > starts)
            p.wait()
            expect_equal("first open after the crash", p.firsts()[-1], [main_pid(p.unit), EACCES])
            p.is_confined()
        expect_equal("compartments of the unit", len(compartments(unit=p.unit)), 1)


@case("unit")
def daemon_reload_inside():
    """systemctl daemon-reload, and daemon-reexec, change nothing."""
    with confined("reloads") as p:
        before = compartment(unit=p.unit)
        for word in ("daemon-reload", "daemon-reexec"):
            must("systemctl", word)
            p.is_confined()
        after = compartment(unit=p.unit)
        expect_equal("the compartment's id", after["id"], before["id"])
        must("systemctl", "restart", p.unit)
        p.wait()
        expect_equal("first open of a start after them", p.firsts()[-1][1], EACCES)


@case("policy")
def rebind_that_fails():
    """An attach --unit that cannot bind leaves a bound unit bound to what it was bound to."""
    with confined("rebound") as p:
        policy, other = compartment(unit=p.unit)["policy"], write_policy("rebound-other")
        out = must("bulkhead", "detach", "--cgroup", cgroup_of(p.unit)).out
        expect_text("detach of the cgroup alone", out, f"{p.unit}: stays bound")
        with dropin(p.unit, "[Service]\nExecCondition=\n"):
            attach(other, "--unit", p.unit, says="systemd does not run what the drop-in says")
        must("systemctl", "restart", p.unit)
        p.wait()
        expect_equal("policy of the next start", compartment(unit=p.unit)["policy"], policy)
        p.is_confined()


@case("policy")
def detach_frees():
    """detach: the same process reads again what it could not, its next start is free, the drop-in
    is gone, and what was refused is reported."""
    with confined("detached") as p:
        pid = main_pid(p.unit)
        p.is_confined()
        expect(os.path.exists(DROPIN % p.unit), "no drop-in after the attach")
        out = must("bulkhead", "detach", "--unit", p.unit).out
        expect_text("detach", out, r"detached +released +enforce +1 +2 +0 +0 +0 ")
        expect_text("detach", out, f"{p.unit}: starts from now on are not confined")
        expect_equal("the main pid", main_pid(p.unit), pid)
        p.is_free()
        expect(not os.path.exists(DROPIN % p.unit), "the drop-in is still there")
        expect_equal("compartments in force", compartments(unit=p.unit), [])
        must("systemctl", "restart", p.unit)
        p.wait()
        expect_equal("first open of the next start", p.firsts()[-1][1], 0)
        p.is_free()
        expect_text("detach of what is not bound", run("bulkhead", "detach", "--unit", p.unit).err,
                    f"{p.unit}: it is not bound, and nothing of it is attached: bulkhead status lists what is")


@case("policy")
def detach_by_name():
    """status lists what is bound; detach by the policy's name releases the unit's next starts, too."""
    with confined("named") as p:
        expect_text("status", must("bulkhead", "status").out, rf"{p.unit} starts inside: /etc/bulkhead/named\.yaml")
        out = must("bulkhead", "detach", "named").out
        expect_text("detach", out, f"{p.unit}: starts from now on are not confined")
        expect(not os.path.exists(DROPIN % p.unit), "the drop-in is still there")
        expect_equal("bindings", status()["bindings"], [])
        must("systemctl", "restart", p.unit)
        p.wait()
        p.is_free()


@case("policy")
def attach_again():
    """What was detached can be attached again, to the same processes."""
    with confined("again") as p:
        must("bulkhead", "detach", "--unit", p.unit)
        p.is_free()
        attach(write_policy("again"), "--unit", p.unit)
        p.is_confined()


@case("policy")
def reload_policy():
    """reload: a rule that was added holds for the running process, in one step; a policy that does
    not load leaves the old one in force and is told with file and line."""
    with confined("reloaded") as p:
        policy = "/etc/bulkhead/reloaded.yaml"
        pid, generation = main_pid(p.unit), compartment(unit=p.unit)["generation"]
        expect_equal("a read before", p.read(OPEN), "")
        text = read(policy)
        write(policy, text.replace("exec:\n", f"  - {{deny: [read], on: [{OPEN}]}}\nexec:\n"))
        must("bulkhead", "reload", "reloaded")
        since = mark()
        expect_equal("the same read after", p.read(OPEN), "EACCES")
        expect_equal("the rule's line", event(since, OPEN)["rule"]["line"], line_of(policy, f"[{OPEN}]"))
        expect(compartment(unit=p.unit)["generation"] != generation, "the same generation as before")

        generation = compartment(unit=p.unit)["generation"]
        bad = read(policy).replace("network: none", "netwrok: none")
        write(policy, bad)
        refused("bulkhead", "reload", "reloaded", says=rf"{policy}:{line_of(policy, 'netwrok')}:")
        expect_equal("generation after a bad edit", compartment(unit=p.unit)["generation"], generation)
        expect_equal("a read under the policy from before it", p.read(OPEN), "EACCES")
        expect_equal("main pid", main_pid(p.unit), pid)
        write(policy, text)
        must("bulkhead", "reload", "--all")
        expect_equal("the read under the first policy again", p.read(OPEN), "")
        expect_equal("a secret under it", p.read(SECRET), "EACCES")


@case("policy")
def private_users():
    """A unit with users and mounts of its own is attached, reloaded, started anew, and confined each time."""
    with confined("private", "PrivateUsers=yes\nPrivateTmp=yes\nUser=root") as p:
        ours, its = (os.readlink(f"/proc/{pid}/ns/user") for pid in ("self", main_pid(p.unit)))
        expect(ours != its, "the unit has no user namespace of its own")
        p.is_confined()
        must("bulkhead", "reload", "private")
        p.is_confined()
        must("systemctl", "restart", p.unit)
        p.wait()
        p.is_confined()
        must("bulkhead", "reload", "private")
        p.is_confined()


@case("policy")
def restart_reads_policy():
    """A start takes the policy as it is written then; one that does not load keeps it from starting."""
    with confined("rewritten") as p:
        policy = "/etc/bulkhead/rewritten.yaml"
        text = read(policy)
        write(policy, text.replace("exec:\n", f"  - {{deny: [read], on: [{OPEN}]}}\nexec:\n"))
        must("systemctl", "restart", p.unit)
        p.wait()
        expect_equal("a read under the edited policy", p.read(OPEN), "EACCES")
        must("systemctl", "stop", p.unit)
        starts = len(p.firsts())
        write(policy, text.replace("mode: enforce", "mode: enfroce"))
        expect(refused("systemctl", "start", p.unit, says="") is not None, "")
        expect(not unit_is(p.unit, "active"), "active with a policy that does not load")
        expect_equal("starts of the program", len(p.firsts()) - starts, 0)
        write(policy, text)
