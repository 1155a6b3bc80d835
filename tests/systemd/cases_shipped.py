# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The shipped includes at work: git, node, python and a key generator in a workspace meet no refusal, and
what deny/ names is refused though the policy allows the workspace and the home as a whole."""
import os

from harness import (POLICIES, TOP, agent_is_back, case, expect, expect_equal, mark, must, read, records, run,
                     wait_for, write)

WORKSPACE, HOME = f"{TOP}/shipped/ws", f"{TOP}/shipped/home"
KEY, ENV, HOOK = f"{HOME}/.ssh/id_ed25519", f"{WORKSPACE}/.env", f"{WORKSPACE}/.git/hooks/pre-commit"
BUS = "/run/dbus/system_bus_socket"

POLICY = f"""\
version: 1
name: shipped
include:
  - base/loader
  - base/libc
  - base/tls
  - base/dev
  - base/proc
  - base/cgroup-own
  - base/tty
  - base/node
  - base/python
  - base/git
  - base/shell
  - deny/daemons
  - deny/credentials
  - deny/persistence
vars: [WORKSPACE={WORKSPACE}, HOME={HOME}]
mode: enforce
existing: {{default: refuse, keep: [stdio]}}
proc: self
files:
  - {{allow: [read, write, create, delete, attributes, link], on: ["${{WORKSPACE}}/**", "${{HOME}}/**"]}}
exec:
  - {{on: [/usr/bin/node], jit: true}}
  - {{on: ["/usr/bin/python3*", /usr/bin/openssl, /usr/bin/socat]}}
unix: {{connect: [{BUS}]}}
network: none
"""

ORDINARY = f"""\
set -eu
cd {WORKSPACE}
git init -q lib
(cd lib && echo one >f && git add f && git commit -q -m one && git log --oneline)
git clone -q lib copy
(cd copy && git checkout -q -b topic && echo two >>f && git commit -q -am two && git push -q origin topic &&
 git status --short && git diff HEAD~1 && git gc -q)
echo root >root.txt && git add root.txt && git commit -q -m root && git status --short >/dev/null
openssl genpkey -algorithm ed25519 -out lib/id_ed25519 && mv lib/f lib/g && cp lib/g lib/h && ln lib/h lib/i
node -e 'require("fs").writeFileSync("n.txt", JSON.stringify(require("os").cpus().length)); require("crypto").randomBytes(8)'
python3 -c 'import hashlib, json, ssl, subprocess, tempfile
with tempfile.TemporaryDirectory(dir=".") as d: open(d + "/x", "w").write(json.dumps({{}}))
subprocess.run(["ls", "-l", "."], check=True)'
echo done
"""

# name -> what is tried, and where its event is; all of these go through outside.
FORBIDDEN = {
    "key": (f"cat {KEY}", KEY),
    "environment": (f"cat {ENV}", ENV),
    "hook": (f"echo id >{HOOK}", HOOK),
    "fsmonitor": (f"git -C {WORKSPACE} config core.fsmonitor id", f"{WORKSPACE}/.git/config"),
    "aside": (f"mv {ENV} {WORKSPACE}/readable-env", f"{WORKSPACE}/readable-env"),
    "linked": (f"ln {KEY} {WORKSPACE}/readable-key", f"{WORKSPACE}/readable-key"),
    "bus": (f"socat -u /dev/null UNIX-CONNECT:{BUS}", BUS),
    "shell": (f"echo id >>{HOME}/.bashrc", f"{HOME}/.bashrc"),
}


def prepare():
    must("rm", "-rf", f"{TOP}/shipped")
    for path in (KEY, ENV, f"{HOME}/.bashrc"):
        write(path, "synthetic\n")
    write(f"{HOME}/.gitconfig", "[user]\n\tname = t\n\temail = t@example.org\n[init]\n\tdefaultBranch = main\n")
    must("git", "init", "-q", WORKSPACE, env=environment())
    write(f"{POLICIES}/shipped.yaml", POLICY)


def environment():
    return {**os.environ, "HOME": HOME}


def script(name, text):
    write(f"{WORKSPACE}/{name}.sh", text)
    return "/bin/bash", f"{WORKSPACE}/{name}.sh"


def inside(*argv):
    return run("bulkhead", "run", f"{POLICIES}/shipped.yaml", "--", *argv, seconds=200, env=environment(),
               cwd=WORKSPACE)


def attempts():
    """Each in a shell of its own; says "NAME STATUS"."""
    return "\n".join(f"(\n{command}\n) >/dev/null 2>&1; echo {name} $?" for name, (command, _) in FORBIDDEN.items())


def violations(since):
    """[hook, path] of what the compartment was refused. The first record is `run`'s own: before its command
    goes on it proves that no process of outside is moved in."""
    return [[r["hook"], r["object"].get("path")] for r in records(since, kind="violation", name="shipped")
            if r["hook"] != "cgroup_attach_task"]


@case("shipped", seconds=300)
def includes():
    """Ordinary work makes no event at all; what is denied fails, leaves an event, and is possible outside."""
    agent_is_back()
    prepare()
    since = mark()
    done = inside(*script("all", f"(\n{ORDINARY}) >&2; echo ordinary $?\n{attempts()}"))
    told = dict(line.split() for line in done.out.splitlines())
    expect_equal(f"status of ordinary work ({done.err.strip()[-600:]})", told.pop("ordinary", None), "0")
    expect_equal("attempts that were made", sorted(told), sorted(FORBIDDEN))
    expect_equal("attempts that went through", [name for name, status in told.items() if status == "0"], [])
    wanted = {path for _, path in FORBIDDEN.values()}
    wait_for("an event of each", lambda: wanted <= {path for _, path in violations(since)}, 30)
    # Ordinary work has none: every event is at a place that was tried.
    expect_equal("events of ordinary work", [v for v in violations(since) if v[1] not in wanted], [])
    expect_equal("the hook", os.path.exists(HOOK), False)
    expect("synthetic\n" == read(ENV) == read(f"{HOME}/.bashrc"), "a file was changed")
    outside = run(*script("attempts", attempts()), env=environment(), cwd=WORKSPACE)
    expect_equal("outside", sorted(outside.out.splitlines()), sorted(f"{name} 0" for name in FORBIDDEN))
