# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Containers, made by a runtime from an OCI bundle, whose cgroup is attached: rules are about the names that are
seen inside, and hold by every other name. What an operator can start in one afterwards, and how."""
import contextlib
import json
import os
import shutil
import subprocess

from harness import (CGROUPS, LAB, POLICIES, TOP, Provider, agent_is_back, attach, case, compartments, event, expect,
                     expect_equal, expect_text, mark, must, read, records, refusals, run, wait_for, write)

BOXES = "/srv/box"
STORE = f"{BOXES}/store"  # /data and /second of a container
CODE = "/opt/box"  # TOP/lib of a container

POLICY = f"""\
version: 1
name: {{name}}
include: [base/loader, base/libc, base/python, base/dev, base/proc]
mode: enforce
existing: {{{{default: refuse, keep: [stdio]}}}}
proc: self
files:
  - {{{{allow: [read], on: ["{CODE}/**", "/data/**"]}}}}
  - {{{{deny: [read], on: ["/data/private/**"]}}}}
  - {{{{allow: [read, write, create, delete], on: ["/run/box/**"]}}}}
exec:
  - {{{{on: ["/usr/bin/python3*"]}}}}
network: none
"""

# What Docker gives: the runtime has more than its own share to drop.
CAPABILITIES = [f"CAP_{name}" for name in (
    "CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID", "SETPCAP", "NET_BIND_SERVICE", "SYS_CHROOT")]

# In it, and by the second bind of the same tree; from the host, by the place where it stands.
OPEN = ("/data/notes", "/second/notes")
CLOSED = ("/data/private/token", "/second/private/token")
OPEN_AT_HOME, CLOSED_AT_HOME = f"{STORE}/notes", f"{STORE}/private/token"

# What a runtime's own process meets on its way, in what order Debian's versions do things.
EXEC = {"runc": ("capable", "EPERM", "operation not permitted"), "crun": ("file_open", "EACCES", "Permission denied")}


def enter_script():
    """The example of bulkhead(8), CONTAINERS, as people copy it."""
    section = read(f"{LAB}/../bulkhead.8").partition("\n.SH CONTAINERS\n")[2].partition("\n.SH ")[0]
    example = section.partition("\n.EX\n")[2].partition("\n.EE\n")[0]
    expect("setns" in example, "bulkhead(8) has no example of how to enter a container")
    return example.replace("\\-", "-").replace("\\e", "\\") + "\n"


def mount(to, what, kind="none", *options):
    return {"destination": to, "source": what, "type": kind, "options": list(options)}


def config(name, directory):
    binds = [("/usr", "/usr", "ro"), (f"{TOP}/lib", CODE, "ro"), (STORE, "/data", "rw"), (STORE, "/second", "rw"),
             (f"{directory}/run", "/run/box", "rw")]
    return {
        "ociVersion": "1.0.2",
        "process": {
            "terminal": False, "user": {"uid": 0, "gid": 0}, "cwd": "/", "env": ["PATH=/usr/bin", "LC_ALL=C.UTF-8"],
            "args": ["/usr/bin/python3", "-u", f"{CODE}/provider.py", "/run/box/box.sock"], "noNewPrivileges": True,
            "capabilities": {kind: CAPABILITIES for kind in ("bounding", "effective", "permitted")}},
        "root": {"path": "rootfs", "readonly": False},
        "hostname": name,
        "mounts": [mount("/proc", "proc", "proc"), mount("/dev", "tmpfs", "tmpfs", "nosuid", "mode=755"),
                   *(mount(to, what, "none", "bind", mode) for what, to, mode in binds)],
        "linux": {"namespaces": [{"type": kind} for kind in ("pid", "mount", "ipc", "uts")],
                  "cgroupsPath": f"/{name}"},
    }


class Box(Provider):
    """A container whose first process is provider.py."""

    def __init__(self, runtime):
        super().__init__(f"box-{runtime}")
        self.runtime, self.directory, self.cgroup = runtime, f"{BOXES}/{runtime}", f"{CGROUPS}/{self.name}"
        self.socket, self.policy = f"{self.directory}/run/box.sock", f"{POLICIES}/{self.name}.yaml"
        self.log = f"{self.directory}/log"

    def config(self):
        return config(self.name, self.directory)

    def policy_text(self):
        return POLICY.format(name=self.name)

    def start(self):
        """With no output that the container could keep open: its end is waited for."""
        for directory in ("proc", "dev", "usr", "etc", "data", "second", "run/box", CODE[1:]):
            os.makedirs(f"{self.directory}/rootfs/{directory}", exist_ok=True)
        for link in ("bin", "lib", "lib64", "sbin"):
            os.symlink(f"usr/{link}", f"{self.directory}/rootfs/{link}")
        os.makedirs(f"{self.directory}/run")
        write(f"{self.directory}/config.json", json.dumps(self.config()))
        write(self.policy, self.policy_text())
        made = run("/bin/sh", "-c", f'exec "$@" >{self.log} 2>&1', "sh", self.runtime, "run", "--detach", "--pid-file",
                   f"{self.directory}/pid", "--bundle", self.directory, self.name)
        expect_equal(f"status of {self.runtime} run ({read(self.log)[-400:]})", made.status, 0)
        self.wait()
        self.pid = int(read(f"{self.directory}/pid"))

    def exec(self, *argv):
        return run(self.runtime, "exec", self.name, *argv)

    def enter(self, *argv):
        path = f"{self.directory}/enter"
        write(path, enter_script(), 0o755)
        return run(path, self.cgroup, str(self.pid), *argv)

    def remove(self):
        run(self.runtime, "delete", "--force", self.name)
        shutil.rmtree(self.directory, ignore_errors=True)


@contextlib.contextmanager
def box(runtime, kind=Box):
    agent_is_back()
    for path in (OPEN_AT_HOME, CLOSED_AT_HOME):
        write(path, "synthetic\n")
    b = kind(runtime)
    try:
        b.start()
        yield b
    finally:
        if compartments(name=b.name):
            run("bulkhead", "detach", b.name)
        b.remove()


@contextlib.contextmanager
def at_home(b):
    """A process of the host's mount namespace, that can be moved in."""
    path = f"{b.directory}/home.sock"
    with subprocess.Popen(["/usr/bin/python3", "-u", f"{TOP}/lib/provider.py", path], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            b.wait(path)
            yield path, process.pid
        finally:
            process.kill()


def opens(b, paths, wanted, **where):
    for path in paths:
        expect_equal(f"{b.name}, reading {path}", b.read(path, **where), wanted)


def is_free(b, home):
    opens(b, OPEN + CLOSED, "")
    opens(b, (OPEN_AT_HOME, CLOSED_AT_HOME), "", path=home)


def is_told(b, since, pid, n):
    """n refusals of a process, each with an event that names the file as it is seen inside."""
    told = event(since, CLOSED[0], name=b.name)
    expect_equal("the event", [told[k] for k in ("verdict", "errno", "hook", "reason")] + [told["subject"]["tgid"]],
                 ["refused", "EACCES", "file_open", "denied", pid])
    expect_equal("refusals", refusals(name=b.name), n)


def explained(b, path, status):
    """By names that the members alone have, and where it stands."""
    done = run("bulkhead", "explain", b.policy, "--path", path, "--op", "read", "--as-seen-by", b.cgroup, "--json")
    expect_equal(f"status of explain {path} ({done.text[-300:]})", done.status, status)
    told = json.loads(done.out)
    file = path.removeprefix("/data").removeprefix("/second")
    expect_equal("what explain says", [told["verdict"], told["place"]["path"], told["place"]["exists"],
                                       told["place"]["pid"]],
                 ["refused" if status else "allowed", STORE + file, True, b.pid])
    expect_equal("names", sorted(told["place"]["names"]), [f"/data{file}", f"/second{file}"])


def is_confined(b):
    since, before = mark(), refusals(name=b.name)
    opens(b, OPEN, "")
    opens(b, CLOSED, "EACCES")
    is_told(b, since, b.pid, before + len(CLOSED))
    explained(b, OPEN[1], 0)
    explained(b, CLOSED[0], 1)


def is_confined_at_home(b, home, pid):
    """What was seen from the host all the time is the same file, in another mount namespace of the compartment."""
    write(f"{b.cgroup}/cgroup.procs", str(pid))
    since, before = mark(), refusals(name=b.name)
    opens(b, (OPEN_AT_HOME,), "", path=home)
    opens(b, (CLOSED_AT_HOME,), "EACCES", path=home)
    is_told(b, since, pid, before + 1)
    os.kill(pid, 9)


# Says that it ran, in which namespace, and what it may read; and leaves a file, where it may.
SAY = ("/usr/bin/python3", "-IS", "-c", f"""\
import os
print("it ran", os.getpid() < 1000, open({OPEN[0]!r}).read().strip())
open("/run/box/ran", "w").close()
try:
    print(open({CLOSED[0]!r}).read().strip())
except PermissionError as e:
    print("refused", e.errno)
""")


def exec_is_refused(b):
    """The runtime's process sets itself up from within, and no policy gives it what it needs. Nothing is run."""
    hook, errno, says = EXEC[b.runtime]
    since = mark()
    done = b.exec(*SAY)
    expect(done.status != 0 and not done.out, f"{b.runtime} exec: status {done.status}, says {done.out[-300:]!r}")
    expect_text(f"{b.runtime} exec", done.err, says)
    wait_for(f"an event of {hook}", lambda: records(since, kind="violation", name=b.name, hook=hook, errno=errno), 30)
    expect(not os.path.exists(f"{b.directory}/run/ran"), "a command ran")


def enter_works(b):
    """As bulkhead(8) says: the namespaces first, then the cgroup, then the program."""
    since = mark()
    done = b.enter(*SAY)
    expect_equal(f"what was entered says ({done.err[-300:]})", done.out, "it ran True synthetic\nrefused 13\n")
    os.unlink(f"{b.directory}/run/ran")
    told = event(since, CLOSED[0], name=b.name)
    expect_equal("the event", [told["verdict"], told["subject"]["comm"]], ["refused", "python3"])
    # What the policy does not list is not run there, either.
    done = b.enter("/usr/bin/cat", OPEN[0])
    expect_text("another program", done.err, "^/usr/bin/cat: Permission denied$")
    expect_equal("its output", done.out, "")


def contained(runtime):
    with box(runtime) as b, at_home(b) as (home, pid):
        is_free(b, home)
        attach(b.policy, "--cgroup", b.cgroup)
        is_confined(b)
        is_confined_at_home(b, home, pid)
        exec_is_refused(b)
        enter_works(b)
        must("bulkhead", "detach", b.name)
        opens(b, OPEN + CLOSED, "")
        done = b.exec(*SAY)
        expect_equal(f"exec, detached ({done.err[-300:]})", done.out, "it ran True synthetic\nsynthetic\n")
        os.unlink(f"{b.directory}/run/ran")


@case("containers")
def runc():
    """A container of runc's: by its names, by another bind of them and from the host the verdict is one; events
    and explain name it; exec is refused, and what enters as the manual says is confined."""
    contained("runc")


@case("containers")
def crun():
    """The same of crun's."""
    contained("crun")
