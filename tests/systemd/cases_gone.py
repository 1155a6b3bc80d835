# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Processes and cgroups that go while they are enrolled: attached or refused, never half of it."""
import os
import subprocess
import threading

from harness import (CGROUPS, case, compartments, expect, expect_text, run, wait_for, write, write_policy)

# What attach says of what is not there any more.
GONE = r"No such process|No such file|No such device|ended|is gone|nothing to attach|holds no process"

# Moments of the 2.4 s that an attach takes at most, emulated; the soak has more of them.
MOMENTS = int(os.environ.get("BULKHEAD_MOMENTS", "12"))


def sleeper(seconds):
    return subprocess.Popen(["/bin/sleep", f"{seconds:.2f}"], stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def attach_going(name, make_target):
    """Attaches what goes sooner or later: both ends must have been seen, and nothing of either is left."""
    policy = write_policy(name, existing="{default: report}")
    outcomes = []
    for i in range(MOMENTS):
        after = 2.4 * i / MOMENTS
        child = sleeper(after)
        where, finish = make_target(child, i)
        result = run("bulkhead", "attach", policy, *where)
        child.wait(timeout=60)
        finish()
        outcomes.append(result.status)
        if result.status:
            expect_text(f"attach of what goes after {after:.2f} s", result.err, GONE)
        wait_for("no compartment is left", lambda: not compartments(name=name))
    print(f"# {name}: {outcomes.count(0)} attached, {len(outcomes) - outcomes.count(0)} refused")
    expect(0 in outcomes, "none was attached")
    expect(any(outcomes), "none was refused")


@case("storm", seconds=400)
def process_ends_meanwhile():
    """A process that ends at any moment of its own enrolment."""
    attach_going("ending", lambda child, _: (("--pid", str(child.pid)), lambda: None))


@case("storm", seconds=400)
def cgroup_goes_meanwhile():
    """A cgroup that is removed as soon as its only process ended, by somebody else."""
    def make(child, i):
        path = f"{CGROUPS}/sd-going-{i}"
        os.mkdir(path)
        write(f"{path}/cgroup.procs", str(child.pid))

        def remove():
            child.wait()
            wait_for(f"{path} can be removed", lambda: run("rmdir", path).status == 0)

        remover = threading.Thread(target=remove)
        remover.start()
        return ("--cgroup", path), remover.join

    attach_going("going", make)
