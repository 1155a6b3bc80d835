# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""bulkhead learn, end to end: an audited run becomes a policy, and the policy holds the same run."""
import json
import os
import shutil
import subprocess
import time

from harness import (agent_is_back, case, compartments, expect, expect_equal, expect_text, mark, must,
                     records, run, wait_for, write)

HOME = "/srv/learn"
NAME = "learner"
KEY = "/root/.ssh/id_ed25519"
STRANGERS = 1000

AUDIT = f"""\
version: 1
name: {NAME}
mode: audit
existing: {{default: refuse, keep: [stdio]}}
network: none
files:
  - {{allow: [read], on: [{HOME}/workload]}}
"""

# Reads in several directories, replaces a file by way of a temporary one, runs programs. As a probe it
# opens each file that it is told of, and says which could be.
WORKLOAD = f"""\
#!/bin/bash
set -euo pipefail
if [[ ${{1:-}} == probe ]]; then
	while read -r f; do
		if {{ exec 3< "$f"; }} 2>/dev/null; then echo "$f"; exec 3<&-; fi
	done
	exit
fi
cd {HOME}/work
read -r name < /etc/hostname
for f in {HOME}/in/a/* {HOME}/in/b/one; do
	read -r word < "$f"
	echo "$name $word" >> log
done
read -r key < {KEY} || true
t=$(mktemp report.XXXXXXXXXXXX)
sort log > "$t"
mv -f "$t" report
cat report > /dev/null
rm log
"""


def set_up():
    agent_is_back()
    shutil.rmtree(HOME, ignore_errors=True)
    for i in range(6):
        write(f"{HOME}/in/a/{i}", f"word{i}\n")
    for word in ("one", "two", "three"):
        write(f"{HOME}/in/b/{word}", word + "\n")
    write(KEY, "synthetic\n", 0o600)
    os.makedirs(HOME + "/work")
    write(HOME + "/workload", WORKLOAD, 0o755)
    write(HOME + "/audit.yaml", AUDIT)


def work(policy):
    return run("bulkhead", "run", policy, "--", HOME + "/workload")


def told(since):
    return records(since, kind="violation", name=NAME)


def refused(since):
    """Without what is only noted: that the run was moved in."""
    return [r for r in told(since) if r["verdict"] == "refused"]


def host_files():
    found = must("find", "/", "-xdev", "(", "-path", "/lab", "-o", "-path", "/tmp", ")", "-prune", "-o",
                 "-type", "f", "-readable", "-print").out
    return sorted(f for f in found.splitlines() if "\\" not in f)


def opened(files, *inside):
    done = subprocess.run([*inside, HOME + "/workload", "probe"], input="\n".join(files) + "\n", text=True,
                          capture_output=True, check=False, timeout=200)
    expect_equal(f"status of the probe ({done.stderr[-200:]})", done.returncode, 0)
    return done.stdout.splitlines()


def learn(policy, lines, *options, status=0):
    """As a person does it: what is told, and the proposal."""
    write(HOME + "/run.json", lines)
    done = run("bulkhead", "learn", policy, HOME + "/run.json", *options)
    expect_equal(f"status of learn ({done.err.strip()[-300:]})", done.status, status)
    write(HOME + "/new.yaml", done.out)
    return done


@case("learn", seconds=400)
def same_run_nothing_else():
    """An audited run becomes a policy under which the same run is refused nothing but its credential,
    1,000 files that it did not touch are all refused, and few others can be opened."""
    set_up()
    since = mark()
    audited = work(HOME + "/audit.yaml")
    expect_equal(f"the audited run ({audited.text[-300:]})", audited.status, 0)
    wait_for("the run's end", lambda: not compartments(name=NAME))
    events = told(since)
    lines = must("bulkhead", "events", "--json").out
    done = learn(HOME + "/audit.yaml", lines, "--compartment", str(events[0]["compartment"]))
    proposal = done.out
    print("# " + done.err.strip().replace("\n", "\n# "))
    expect_text("the proposal", proposal, rf"A credential by deny/credentials.*\n#   read {KEY}")
    expect("\nmode: enforce\n" in proposal, "its mode is not enforce")
    must("bulkhead", "check", HOME + "/new.yaml")

    since = mark()
    confined = work(HOME + "/new.yaml")
    expect_equal(f"the confined run ({confined.text[-300:]})", confined.status, 0)
    wait_for("its one refusal", lambda: refused(since))
    expect_equal("what it was refused", [r["object"].get("path") for r in refused(since)], [KEY])

    os.unlink(KEY)
    since = mark()
    expect_equal("status without the credential", work(HOME + "/new.yaml").status, 0)
    wait_for("the run's end", lambda: told(since) and not compartments(name=NAME))
    expect_equal("what it was refused then", refused(since), [])

    touched = {r["object"].get("path") for r in events}
    files = host_files()
    used = [f for f in files if f in touched]
    strangers = [f for f in files if f not in touched and f != HOME + "/workload"]
    some = strangers[::max(1, len(strangers) // STRANGERS)][:STRANGERS]
    expect_equal("files that the run did not touch", len(some), STRANGERS)
    expect_equal("of these, opened outside", len(opened(some)), STRANGERS)
    inside = ("bulkhead", "run", HOME + "/new.yaml", "--")
    expect_equal("of these, opened inside", opened(some, *inside), [])
    # Tens of thousands of refusals: the same verdicts, and no event of each.
    hushed = proposal.replace("files:\n", 'files:\n  - {quiet: [read], on: ["/**"]}\n', 1)
    expect(hushed != proposal, "the proposal has no files")
    write(HOME + "/hushed.yaml", hushed)
    allowed = opened(files, "bulkhead", "run", HOME + "/hushed.yaml", "--")
    print(f"# of {len(files)} files {len(used)} were used and {len(allowed)} can be opened")
    expect(used and len(allowed) <= 10 * len(used), f"{len(allowed)} can be opened, {len(used)} were used")


def caught_up():
    """The agent has told of all there was: of a run that ended before, it does not know the name."""
    before, told_at = mark(), time.monotonic()

    def still():
        nonlocal before, told_at
        if mark() != before:
            before, told_at = mark(), time.monotonic()
        return time.monotonic() - told_at > 3

    wait_for("the agent caught up", still)


@case("learn")
def incomplete_run():
    """A gap in the numbers makes the proposal say so, keep the mode and end with another status."""
    set_up()
    caught_up()
    since = mark()
    work(HOME + "/audit.yaml")
    caught_up()
    events = told(since)
    expect(len(events) > 4, f"only {len(events)} events")
    lines = "".join(json.dumps(r) + "\n" for r in events[:2] + events[4:])
    done = learn(HOME + "/audit.yaml", lines, status=3)
    expect_text("the proposal", done.out, "2 of its events were lost")
    expect_text("its mode", done.out, "\nmode: audit\n")
    expect_text("what is told", done.err, "2 events were lost: the proposal is incomplete")
