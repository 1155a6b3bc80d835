# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the cases of this suite stand on: units, providers, policies, events, and waits with an end.

Deadlines are those of an emulated machine on a busy host: they end what hangs, they time nothing.

A case is a function with @case; it proves what its docstring says, or raises. One line each:
"ok NAME", "not ok NAME why", "skip NAME why", after "plan N".
"""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import traceback

LAB = os.path.dirname(os.path.abspath(__file__))
TOP = "/srv/sd"
SECRET = TOP + "/secret/token"  # no rule speaks of it
DENIED = TOP + "/work/private/token"  # a rule denies it
OPEN = TOP + "/work/notes"  # a rule allows it
UNITS = "/etc/systemd/system"
INSTALLED_UNITS = "/usr/local/lib/systemd/system"  # where make install puts ours
POLICIES = "/etc/bulkhead"
CGROUPS = "/sys/fs/cgroup"
AGENT = "bulkheadd.service"
EVENTS = "/run/bulkhead/events.jsonl"
BINDINGS = "/var/lib/bulkhead/units"
DROPIN = UNITS + "/%s.d/50-bulkhead.conf"
# What the agent is told of known verdicts, if this boot was.
CACHE = "BULKHEAD_CACHE" in os.environ and "BULKHEAD_CACHE=" + os.environ["BULKHEAD_CACHE"]

POLICY = """\
version: 1
name: {name}
include: [base/loader, base/libc, base/python, base/dev, base/proc, base/systemd-unit]
mode: enforce
existing: {existing}
proc: self
files:
  - {{allow: [read], on: ["{top}/lib/**"]}}
  - {{allow: [read, write, append, create, delete], on: ["{top}/work/**"]}}
  - {{deny: [read, write, create, delete], on: ["{top}/work/private/**"]}}
exec:
  - {{on: ["/usr/bin/python3*", {top}/lib/first]}}
{unix}network: none
"""

CASES = []


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def case(group, seconds=240, boot=1, kernels=None):
    def register(function):
        CASES.append((f"{group}.{function.__name__}", group, boot, kernels, seconds, function))
        return function

    return register


def expect(truth, why):
    if not truth:
        raise Failed(why)


def expect_equal(what, is_, wanted):
    expect(is_ == wanted, f"{what}: {is_!r}, not {wanted!r}")


def expect_text(what, text, pattern):
    expect(re.search(pattern, text), f"{what}: {text.strip()[-400:]!r} does not say {pattern!r}")


def wait_for(what, test, seconds=60):
    """The first true value of test(), which is asked again and again."""
    end = time.monotonic() + seconds
    while True:
        value = test()
        if value:
            return value
        if time.monotonic() >= end:
            raise Failed(f"{what}: not within {seconds} s")
        time.sleep(0.02)


# --- programs ---


class Result:
    def __init__(self, done):
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr
        self.text = done.stdout + done.stderr


def run(*argv, seconds=120, **options):
    began = time.monotonic()
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=seconds, check=False, **options)
    except subprocess.TimeoutExpired:
        raise Failed(f"{' '.join(argv)}: no end within {seconds} s") from None
    if time.monotonic() - began > 1:
        print(f"# {time.monotonic() - began:.1f} s: {' '.join(argv)}", flush=True)
    return Result(done)


def must(*argv, **options):
    result = run(*argv, **options)
    expect(result.status == 0, f"{' '.join(argv)}: status {result.status}: {result.text.strip()[-600:]}")
    return result


def refused(*argv, says, status=1, **options):
    """A command that must fail with this status and these words."""
    result = run(*argv, **options)
    expect_equal(f"status of {' '.join(argv)} ({result.text.strip()[-200:]})", result.status, status)
    expect_text(" ".join(argv[:3]), result.err, says)
    return result.err


def as_user(uid, groups, *argv):
    which = ["--groups=" + groups] if groups else ["--clear-groups"]
    return ("setpriv", f"--reuid={uid}", f"--regid={uid}", *which, *argv)


# --- files ---


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)


def read(path):
    try:
        with open(path, encoding="utf-8") as f:
            return f.read()
    except FileNotFoundError:
        return ""


def write_policy(name, existing="{default: refuse, keep: [stdio, journal, notify]}", unix=""):
    path = f"{POLICIES}/{name}.yaml"
    write(path, POLICY.format(name=name, existing=existing, unix=unix, top=TOP))
    return path


def line_of(path, needle):
    lines = read(path).splitlines()
    return next(i + 1 for i, line in enumerate(lines) if needle in line)


# --- systemd ---


def unit_is(unit, state):
    return run("systemctl", "is-active", unit).out.strip() == state


def unit_show(unit, what):
    return must("systemctl", "show", "--value", "-p", what, unit).out.strip()


def main_pid(unit):
    return int(unit_show(unit, "MainPID"))


def cgroup_of(unit):
    return CGROUPS + unit_show(unit, "ControlGroup")


def daemon_reload():
    must("systemctl", "daemon-reload")


def journal(unit, since):
    return run("journalctl", "-q", "--no-pager", "-o", "cat", "-u", unit, f"--since=@{since:.3f}").out


@contextlib.contextmanager
def dropin(unit, text, name="99-test.conf"):
    """A drop-in for the time of a `with`."""
    path = f"{UNITS}/{unit}.d/{name}"
    write(path, text)
    daemon_reload()
    try:
        yield
    finally:
        os.unlink(path)
        daemon_reload()


# --- the agent ---


def agent_start():
    run("systemctl", "reset-failed", AGENT)
    must("systemctl", "start", AGENT)


def agent_stop():
    must("systemctl", "stop", AGENT)


def attach(policy, *where, says=None):
    """attach, or its refusal."""
    if says:
        return refused("bulkhead", "attach", policy, *where, says=says)
    return must("bulkhead", "attach", policy, *where).out


def status():
    return json.loads(must("bulkhead", "status", "--json").out)


def compartments(**fields):
    """What is in force; a released one is listed as long as a process bears its label."""
    return [c for c in status()["compartments"]
            if c["state"] != "released" and all(c[k] == v for k, v in fields.items())]


def compartment(**fields):
    found = compartments(**fields)
    expect_equal(f"compartments with {fields}", len(found), 1)
    return found[0]


def refusals(**fields):
    return compartment(**fields)["tally"]["refused"]


def mark():
    """Where the records of now begin in the agent's file; what `bulkhead events` shows is a case."""
    try:
        return os.path.getsize(EVENTS)
    except FileNotFoundError:
        return 0


def records(since, **fields):
    with open(EVENTS, encoding="utf-8") as f:
        f.seek(since)
        found = [json.loads(line) for line in f if line.endswith("\n")]
    return [r for r in found if all(r.get(k) == v for k, v in fields.items())]


def event(since, path, seconds=30, **fields):
    """The first record of a refusal at this path; it comes a little after the refusal."""

    def look():
        return [r for r in records(since, kind="violation", **fields)
                if r["object"].get("path") == path]

    return wait_for(f"an event that names {path}", look, seconds)[0]


# --- providers ---


def service(provider, start, extra):
    return f"""\
[Unit]
Description=Provider {provider} of a test
StartLimitIntervalSec=0
[Service]
ExecStart={start}
{extra}
[Install]
WantedBy=multi-user.target
"""


class Provider:
    """A unit that runs provider.py, by way of `first`."""

    def __init__(self, name):
        self.name, self.unit = name, name + ".service"
        self.socket = f"{TOP}/work/{name}.sock"
        self.result = f"{TOP}/work/{name}.first"

    def command(self):
        return f"{TOP}/lib/first {SECRET} {self.result} {self.program()}"

    def program(self):
        return f"/usr/bin/python3 -u {TOP}/lib/provider.py {self.socket}"

    def write(self, extra="", start=None):
        # No daemon-reload: the names are new, and each costs a second under emulation.
        write(f"{UNITS}/{self.unit}", service(self.name, start or self.command(), extra))

    def start(self):
        must("systemctl", "start", self.unit)
        self.wait()

    def wait(self, path=None):
        """Until it answers: who made the socket file may be dead."""
        wait_for(f"{self.name} serves", lambda: self.answers(path))

    def answers(self, path=None):
        try:
            return self.ask("pid", path=path)
        except (OSError, ValueError):
            return None

    def ask(self, *words, path=None, seconds=60):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(seconds)
            s.connect(path or self.socket)
            s.sendall((" ".join(str(w) for w in words) + "\n").encode())
            with s.makefile() as f:
                return json.loads(f.readline())

    def read(self, file, **options):
        return self.ask("read", file, **options)["error"]

    def firsts(self):
        """[pid, errno] of each start's first open."""
        return [[int(x) for x in line.split()] for line in read(self.result).splitlines()]

    def is_free(self):
        for path in (SECRET, DENIED, OPEN):
            expect_equal(f"{self.name}, free, reading {path}", self.read(path), "")

    def is_confined(self, path=None):
        for file, wanted in ((SECRET, "EACCES"), (DENIED, "EACCES"), (OPEN, "")):
            expect_equal(f"{self.name}, confined, reading {file}", self.read(file, path=path), wanted)

    def remove(self):
        """Files by hand: a detach would reload the manager once more, and is proved elsewhere."""
        run("systemctl", "stop", self.unit)
        for path in (f"{UNITS}/{self.unit}", DROPIN % self.unit, f"{BINDINGS}/{self.unit}.json",
                     self.socket, self.result):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)


@contextlib.contextmanager
def provider(name, extra="", start=None):
    """A provider that runs, unconfined, for the time of a `with`."""
    p = Provider(name)
    p.write(extra, start)
    try:
        p.start()
        yield p
    finally:
        agent_is_back()
        p.remove()


@contextlib.contextmanager
def confined(name, extra="", **policy):
    """The same, attached."""
    file = write_policy(name, **policy)
    with provider(name, extra) as p:
        p.is_free()
        attach(file, "--unit", p.unit)
        yield p


def agent_is_back():
    """Cases may leave the agent dead; the next one finds it running."""
    if not unit_is(AGENT, "active"):
        run("systemctl", "unmask", "--runtime", AGENT)
        agent_start()
    if CACHE:
        expect("\0" + CACHE + "\0" in "\0" + read(f"/proc/{main_pid(AGENT)}/environ"), f"the agent runs without {CACHE}")


# --- the run ---


def set_up():
    for directory in ("lib", "work/private", "secret"):
        os.makedirs(f"{TOP}/{directory}", exist_ok=True)
    shutil.copy(f"{LAB}/provider.py", f"{TOP}/lib/provider.py")
    for program in ("first", "stuck"):
        shutil.copy(f"{LAB}/../helpers/{program}", f"{TOP}/lib/{program}")
    for path in (SECRET, DENIED, OPEN):
        write(path, "synthetic\n")
    os.makedirs(POLICIES, exist_ok=True)


def set_up_systemd():
    """Each daemon-reload runs all generators, which takes seconds here and changes nothing."""
    masks = "/run/systemd/system-generators"
    os.makedirs(masks, exist_ok=True)
    for name in os.listdir("/usr/lib/systemd/system-generators"):
        with contextlib.suppress(FileExistsError):
            os.symlink("/dev/null", f"{masks}/{name}")


def set_up_agent():
    unit = read(f"{LAB}/../bulkheadd.service").replace("@SBINDIR@", "/usr/local/bin")
    write(f"{INSTALLED_UNITS}/{AGENT}", unit)
    if CACHE:
        write(f"{UNITS}/{AGENT}.d/50-cache.conf", f"[Service]\nEnvironment={CACHE}\n")
    # Cases look for the event of what they did a moment ago as well.
    write(f"{UNITS}/{AGENT}.d/50-fold.conf", "[Service]\nEnvironment=BULKHEAD_FOLD=off\n")
    daemon_reload()


def on_alarm(_signal, _frame):
    raise Failed("the case's own deadline")


def tell(since):
    """What happened since a case began, for who looks into its failure."""
    log = run("journalctl", "-q", "--no-pager", "-o", "short-monotonic", f"--since=@{since:.3f}").out
    for line in log.splitlines()[-25:]:
        print(f"# log: {line}")
    out = run("bulkhead", "events").out
    for line in out.splitlines()[-8:]:
        print(f"# event: {line}")


def run_case(name, seconds, function):
    began, since = time.monotonic(), time.time()
    signal.signal(signal.SIGALRM, on_alarm)
    signal.alarm(seconds)
    try:
        function()
        print(f"ok {name}")
    except Skipped as e:
        print(f"skip {name} {e}")
    except Exception as e:  # whatever a case meets is its failure, not the suite's
        signal.alarm(0)
        why = str(e) if isinstance(e, Failed) else traceback.format_exc()
        print(f"not ok {name} {' | '.join(why.split(chr(10)))}")
        tell(since)
        trace = traceback.extract_tb(sys.exc_info()[2])
        print("# at " + " < ".join(f"{f.name}:{f.lineno}" for f in reversed(trace)))
    finally:
        signal.alarm(0)
    print(f"# {name} took {time.monotonic() - began:.1f} s", flush=True)


def run_cases(words):
    """Cases of these groups (or single names) that belong to this boot."""
    boot = int(os.environ.get("LAB_BOOT", "1"))
    chosen = [c for c in CASES
              if (c[1] in words or c[0] in words) and c[2] == boot
              and (not c[3] or os.environ.get("LAB_KERNEL") in c[3])]
    print(f"plan {len(chosen)}", flush=True)
    for name, _, _, _, seconds, function in chosen:
        run_case(name, seconds, function)
