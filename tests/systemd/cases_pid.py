# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""attach --pid, and providers that make enrolment hard: forking without end, not to be frozen."""
import os
import signal
import time

from harness import (DROPIN, SECRET, TOP, Failed, attach, case, cgroup_of, compartment, compartments,
                     event, expect, expect_equal, expect_text, mark, must, provider, read, run,
                     wait_for, write_policy)

EACCES = 13
CHILD = f"{TOP}/work/child.sock"


def cgroup_of_pid(pid):
    return "/sys/fs/cgroup" + read(f"/proc/{pid}/cgroup").strip().removeprefix("0::")


@case("pid")
def attach_process():
    """A process and its child move to a scope of their own and are confined there; the unit they
    come from goes on with the processes that are not its descendants."""
    with provider("host", start="/bin/sh -c '"
                  f"/usr/bin/python3 -u {TOP}/lib/provider.py {TOP}/work/host.sock & "
                  f"exec /usr/bin/python3 -u {TOP}/lib/provider.py {TOP}/work/host-b.sock'") as p:
        pid = p.ask("pid")["pid"]
        child = p.ask("fork-provider", CHILD)["pid"]
        p.wait(CHILD)
        other = f"{TOP}/work/host-b.sock"
        p.wait(other)
        for path in (None, CHILD, other):
            expect_equal("a read before", p.read(SECRET, path=path), "")
        attach(write_policy("process"), "--pid", str(pid))
        scope = compartment(name="process")
        expect_text("its cgroup", scope["cgroup"], rf"/bulkhead-process-{pid}\.scope$")
        for member in (pid, child):
            expect_equal("cgroup of a member", cgroup_of_pid(member), scope["cgroup"])
        since = mark()
        p.is_confined()
        p.is_confined(CHILD)
        expect_equal("the record's process", event(since, SECRET)["subject"]["tgid"], pid)
        expect_equal("cgroup of the other", cgroup_of_pid(p.ask("pid", path=other)["pid"]), cgroup_of(p.unit))
        expect_equal("a read of the other", p.read(SECRET, path=other), "")
        must("bulkhead", "detach", "process")
        for path in (None, CHILD):
            expect_equal("a read after detach", p.read(SECRET, path=path), "")
        # The scope stays, and is what a second attach uses.
        attach(write_policy("process"), "--pid", str(pid))
        expect_equal("its cgroup", compartment(name="process")["cgroup"], scope["cgroup"])
        p.is_confined(CHILD)
        for member in (pid, child):
            os.kill(member, signal.SIGKILL)


@case("pid")
def attach_process_oddly_placed():
    """A child in a cgroup that is called as one that is gone is shown is moved as any other."""
    odd = "/sys/fs/cgroup/odd (deleted)"
    with provider("odd") as p:
        pid = p.ask("pid")["pid"]
        child = p.ask("fork-provider", CHILD)["pid"]
        p.wait(CHILD)
        os.mkdir(odd)
        with open(f"{odd}/cgroup.procs", "w", encoding="utf-8") as f:
            f.write(str(child))
        attach(write_policy("odd"), "--pid", str(pid))
        os.rmdir(odd)
        expect_equal("cgroup of the child", cgroup_of_pid(child), compartment(name="odd")["cgroup"])
        p.is_confined(CHILD)
        for member in (pid, child):
            os.kill(member, signal.SIGKILL)


class Storm:
    """Children without end of a provider: each reads the secret and leaves (when, errno)."""

    def __init__(self, p):
        self.provider, self.records = p, []
        self.pid = p.ask("storm", SECRET)["pid"]

    def after(self, moment):
        """errnos of children that began after it; when 0: of forks that were refused."""
        return [code for at, code in self.records if at > moment]

    def more(self, n, moment=0):
        def enough():
            self.records += self.provider.ask("storm-records")["records"]
            return len(self.after(moment)) >= n

        wait_for(f"{n} children more", enough)
        return self.after(moment)

    def is_free(self):
        expect_equal("errnos, free", set(self.more(50, time.monotonic_ns())), {0})

    def is_confined(self, name, moment):
        denied = self.more(200, moment)
        expect_equal("errnos of children after the attach", set(denied), {EACCES})
        # A fork refused for want of a label would be the agent's failure, not the policy's.
        expect_equal("forks refused", [code for at, code in self.records if at == 0], [])
        tally = compartment(name=name)["tally"]
        expect(tally["refused"] >= len(denied), "not all were counted")
        expect_equal("undecided", tally["unsure"], 0)


def attach_storm(storm, name, *where):
    """Attaches it; a child that holds the secret just then is a reason to fail, and then all is as
    it was. Returns when it succeeded."""
    policy = write_policy(name)
    for tries in range(1, 21):
        result = run("bulkhead", "attach", policy, *where)
        moment = time.monotonic_ns()
        if result.status == 0:
            print(f"# {name}: attached at try {tries}")
            return moment
        expect_text("the failed attach", result.err, rf"the processes hold .*read {SECRET}")
        expect_equal("compartments after it", compartments(name=name), [])
        storm.is_free()
    raise Failed("20 tries of attach failed")


@case("storm")
def fork_storm():
    """A provider that forks without end: when attach says yes, no child that begins after it opens
    what is refused; when it says no, every child goes on opening. Never something between."""
    with provider("storm") as p:
        storm = Storm(p)
        storm.is_free()
        moment = attach_storm(storm, "storm", "--unit", p.unit)
        storm.is_confined("storm", moment)
        p.is_confined()


@case("storm")
def fork_storm_pid():
    """The same by --pid: children that are born while the family moves are found too."""
    with provider("stormpid") as p:
        storm = Storm(p)
        storm.is_free()
        moment = attach_storm(storm, "stormpid", "--pid", str(storm.pid))
        storm.is_confined("stormpid", moment)
        # Its parent was not asked for.
        expect_equal("a read of the storm's parent", p.read(SECRET), "")
        os.kill(storm.pid, signal.SIGKILL)


@case("stuck")
def never_freezes():
    """A process that waits inside read(2) for a page of its own userfaultfd never freezes: attach
    fails soon, names the thread, and leaves the unit as it was: thawed, free, unbound."""
    start = f"/bin/sh -c '{TOP}/lib/stuck & exec /usr/bin/python3 -u {TOP}/lib/provider.py {TOP}/work/stuck.sock'"
    policy = write_policy("stuck")
    with provider("stuck", start=start) as p:
        procs = cgroup_of(p.unit) + "/cgroup.procs"

        def stuck_pid():
            return next((int(pid) for pid in read(procs).split()
                         if read(f"/proc/{pid}/comm").strip() == "stuck"
                         and read(f"/proc/{pid}/wchan") == "handle_userfault"), 0)

        stuck = wait_for("the stuck process waits", stuck_pid)
        began = time.monotonic()
        error = attach(policy, "--unit", p.unit, says="does not freeze in 2000 ms")
        took = time.monotonic() - began
        expect_text("attach", error, rf"thread {stuck} \(stuck\) at ")
        print(f"# the attach that cannot be took {took:.1f} s")
        expect(took < 10, f"it took {took:.1f} s to fail")
        expect_equal("cgroup.freeze", read(cgroup_of(p.unit) + "/cgroup.freeze").strip(), "0")
        p.is_free()
        expect_equal("compartments", compartments(name="stuck"), [])
        expect(not os.path.exists(DROPIN % p.unit), "a drop-in is there")
        # The control: without that process it is attached.
        os.kill(stuck, signal.SIGKILL)
        wait_for("the stuck process ends", lambda: not os.path.exists(f"/proc/{stuck}/fd")
                 or "State:\tZ" in read(f"/proc/{stuck}/status"))
        attach(policy, "--unit", p.unit)
        p.is_confined()
