# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tools that agents run all day, under a policy as somebody would write it: shipped includes, a work tree, a
home and a TMPDIR of its own, a service user. Each runs outside first, then bound and enforced: it says the same,
and is refused nothing that the case does not name."""
import base64
import glob
import gzip
import hashlib
import http.server
import io
import json
import os
import re
import shutil
import socket
import tarfile
import threading
import time
import zipfile

from harness import (POLICIES, UNITS, agent_is_back, attach, case, cgroup_of, compartments, event, expect,
                     expect_equal, expect_text, mark, must, read, records, refusals, wait_for, write)

TOP = "/srv/tools"
WORKSPACE, HOME, TMPDIR = f"{TOP}/ws", f"{TOP}/home", f"{TOP}/tmp"
RUN, WORKER_PY = f"{TOP}/run", f"{TOP}/lib/worker.py"
SECRET = f"{TOP}/secret"  # its user may read it; no rule speaks of it
INNER = f"{TOP}/inner"  # the same, for who reads from within a sandbox
MODULES = "/usr/lib/node_modules"  # where npm -g puts what it installs
USER = "lab"
SECONDS = 200  # one run may take
INCLUDES = "/usr/share/bulkhead/policies"

PNPM = '"${HOME}/[.]local/share/pnpm/**"'  # its store

# What a coding agent's tools need. Credentials, daemons and what would run later are denied.
CODER = f"""\
version: 1
name: coder
include:
  - base/loader
  - base/libc
  - base/tls
  - base/resolver
  - base/dev
  - base/proc
  - base/cgroup-own
  - base/tty
  - base/pty
  - base/systemd-unit
  - base/node
  - base/python
  - base/git
  - base/shell
  - deny/daemons
  - deny/credentials
  - deny/persistence
vars: [WORKSPACE={WORKSPACE}, HOME={HOME}, TMPDIR={TMPDIR}]
mode: enforce
existing: {{default: refuse, keep: [stdio, journal, notify]}}
proc: compartment
files:
  - {{allow: [read], on: [/proc]}}  # ps and top list it
  - allow: [read, write, create, delete, attributes, link, ioctl]
    on: ["${{WORKSPACE}}/**", "${{TMPDIR}}/**", "${{HOME}}/[.]cache/**", "${{HOME}}/[.]npm/**", {PNPM}]
  - allow: [read]
    on: ["/usr/include/**", "/usr/lib/gcc/**", "/usr/lib/bfd-plugins/**", "/usr/lib/x86_64-linux-gnu/**"]
exec:
  - {{on: [/usr/bin/node], jit: true}}
  - {{on: [/usr/bin/npm, "/usr/bin/python3*"]}}
  - {{on: [/usr/bin/make, /usr/bin/gcc, "/usr/bin/x86_64-linux-gnu-*", "/usr/lib/gcc/**"]}}
  - {{on: [/usr/bin/sqlite3, /usr/bin/ssh-keygen, /usr/bin/tmux, /usr/bin/ps, /usr/bin/top]}}
  # What pnpm links out of its store runs in the workspace: a name that may run is given to what may run already.
  - {{on: ["${{WORKSPACE}}/**", {PNPM}], written-inside: true}}
network: none
"""

# The same with a store that outlives the compartment: what was linked out of it before is read where the store and
# what was installed from it stand, and nowhere else.
KEEPER = CODER.replace("name: coder", "name: keeper").replace(f", {PNPM}]", "]").replace("exec:\n", f"""\
  - allow: [read, write, create, delete, attributes, link, ioctl]
    hardlinks: allow
    on: [{PNPM}, "${{WORKSPACE}}/**/node_modules/**"]
exec:
  - {{on: [{PNPM}, "${{WORKSPACE}}/**/node_modules/**"], written-inside: true, hardlinks: allow}}
""")

# Signs with a key of its own, which deny/credentials denies to everybody: its copy beside the policy does not.
SIGNER = f"""\
version: 1
name: signer
include: [base/loader, base/libc, base/dev, base/proc, base/tty, base/systemd-unit, base/python, base/shell,
          deny/daemons, ./credentials.yaml]
vars: [WORKSPACE={WORKSPACE}, HOME={HOME}, TMPDIR={TMPDIR}]
mode: enforce
existing: {{default: refuse, keep: [stdio, journal, notify]}}
proc: self
files:
  - allow: [read, write, create, delete, attributes, link]
    on: ["${{WORKSPACE}}/**", "${{TMPDIR}}/**", "${{HOME}}/[.]gnupg/**"]
exec:
  - {{on: ["/usr/bin/python3*", /usr/bin/gpg, /usr/bin/gpg-agent, /usr/bin/gpgconf, /usr/bin/gpg-connect-agent]}}
network: none
"""

POLICY_TEXTS = {"coder": CODER, "keeper": KEEPER, "signer": SIGNER}

# Of policies as they are shipped.
VARIABLES = [word for name, value in (("WORKSPACE", WORKSPACE), ("HOME", HOME), ("TMPDIR", TMPDIR))
             for word in ("--var", f"{name}={value}")]

# Runs each script that it is told of, one a connection.
WORKER = """\
import os, socket, subprocess, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
while True:
    client, _ = listener.accept()
    with client, client.makefile("rw") as lines:
        script = lines.readline().strip()
        with open(script + ".out", "w") as out, open(script + ".err", "w") as err:
            done = subprocess.run(["/bin/bash", script], cwd=script[:-3], stdin=subprocess.DEVNULL, stdout=out,
                                  stderr=err)
        lines.write(f"{done.returncode}\\n")
"""

SERVICE = """\
[Unit]
Description=Tools of a test, {name}
[Service]
User={user}
Environment=HOME={home} TMPDIR={tmpdir} LC_ALL=C.UTF-8 SECRET={secret} INNER={inner}
Environment=GIT_AUTHOR_DATE=@1700000000+0000 GIT_COMMITTER_DATE=@1700000000+0000
Environment=npm_config_offline=true npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false
ExecStart=/usr/bin/python3 -u {worker} {run}/{name}
"""

# The proof that the policy is in force comes last: with its event all those before it are there.
SCRIPT = """\
(
set -euo pipefail
{text})
echo "work $?"
cat "$SECRET" >/dev/null
echo "secret $?"
"""

GITCONFIG = """\
[user]
	name = t
	email = t@example.org
[init]
	defaultBranch = main
[protocol "file"]
	allow = always
"""


def write_credentials():
    """As the include says: a copy without the line that is in the way."""
    lines = read(f"{INCLUDES}/deny/credentials.yaml").splitlines(keepends=True)
    kept = [line for line in lines if "private-keys-v1.d" not in line]
    expect_equal("lines taken out", len(lines) - len(kept), 1)
    write(f"{POLICIES}/credentials.yaml", "".join(kept))


def policy_text(name):
    """What is shipped refuses nothing as shipped: one word makes it."""
    if name in POLICY_TEXTS:
        return POLICY_TEXTS[name]
    text = read(f"{INCLUDES}/{name}.yaml")
    expect_equal(f"modes of {name}", text.count("\nmode: audit\n"), 1)
    return text.replace("\nmode: audit\n", "\nmode: enforce\n")


def serve(name):
    write(f"{UNITS}/tools-{name}.service", SERVICE.format(
        name=name, user=USER, home=HOME, tmpdir=TMPDIR, secret=SECRET, inner=INNER, worker=WORKER_PY, run=RUN))
    must("systemctl", "start", f"tools-{name}.service")
    wait_for(f"{name} serves", lambda: os.path.exists(f"{RUN}/{name}"))


def begin(policy):
    """Once for each policy: services that do the same, one with it and one with none."""
    agent_is_back()
    if compartments(name=policy):
        return
    if not os.path.exists(RUN):
        make(TOP, RUN, WORKSPACE, HOME, TMPDIR)
        write(WORKER_PY, WORKER)
        write_credentials()
        serve("free")
    serve(policy)
    write(f"{POLICIES}/{policy}.yaml", policy_text(policy))
    variables = () if policy in POLICY_TEXTS else VARIABLES
    attach(f"{POLICIES}/{policy}.yaml", "--cgroup", cgroup_of(f"tools-{policy}.service"), *variables)


def make(*directories):
    for directory in directories:
        os.makedirs(directory, exist_ok=True)
        shutil.chown(directory, USER, USER)


def empty(directory):
    """Not made anew: by another directory on the way to what is denied by its whole name the agent would find
    itself with all policies to compile again, twice a case."""
    os.makedirs(directory, exist_ok=True)
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)


def fresh(name, text, prepare):
    """The same beginning for both runs."""
    for directory in (WORKSPACE, HOME, TMPDIR):
        empty(directory)
    write(SECRET, "synthetic\n")
    write(INNER, "synthetic\n")
    write(f"{HOME}/.gitconfig", GITCONFIG)
    make(f"{WORKSPACE}/{name}", TMPDIR, f"{HOME}/.cache", f"{HOME}/.npm")
    write(f"{WORKSPACE}/{name}.sh", SCRIPT.format(text=text))
    if prepare:
        prepare(f"{WORKSPACE}/{name}")
    must("chown", "-R", f"{USER}:", WORKSPACE, HOME, TMPDIR)


def work(name, where):
    """What the script says on both its outputs."""
    began = time.monotonic()
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(SECONDS)
        s.connect(f"{RUN}/{where}")
        with s.makefile("rw") as lines:
            lines.write(f"{WORKSPACE}/{name}.sh\n")
            lines.flush()
            lines.readline()
    print(f"# {time.monotonic() - began:.1f} s: {name}, {where}", flush=True)
    return read(f"{WORKSPACE}/{name}.sh.out"), read(f"{WORKSPACE}/{name}.sh.err")


def place(what):
    path = re.sub("^/proc/[0-9]+/", "/proc/PID/", what.get("path") or "")
    return path or what.get("family") or str(what)


def refused_to(since, path, comm, policy):
    """The event of a read that was refused."""
    proof = event(since, path, name=policy)
    expect_equal(f"verdict at {path}", [proof[k] for k in ("verdict", "errno", "hook")] + [proof["subject"]["comm"]],
                 ["refused", "EACCES", "file_open", comm])


def proved(name, text, says, policy="coder", prepare=None, expected=None, sandboxes=0):
    """`text` works outside and says what matches `says`; inside it says the same, and is refused the secret
    and what is in `expected`, {place: why that is right}, alone. In so many sandboxes it says "inner 0" where
    what no rule speaks of can be read in them, which inside it cannot."""
    begin(policy)
    fresh(name, text, prepare)
    outside, error = work(name, "free")
    expect(outside.endswith("work 0\nsecret 0\n"), f"outside: {outside[-300:]!r} {error[-600:]!r}")
    for pattern in says:
        expect_text("what it says outside", outside, pattern)
    expect_equal(f"sandboxes that read outside ({error[-600:]!r})", outside.count("inner 0\n"), sandboxes)

    fresh(name, text, prepare)
    since, counted = mark(), refusals(name=policy)
    inside, error = work(name, policy)
    expect(inside.endswith("secret 1\n"), f"inside: {inside[-300:]!r} {error[-600:]!r}")
    # The secret's event comes last: before it all others are there.
    refused_to(since, SECRET, "cat", policy)
    told = [[place(r["object"]), r["hook"], r["subject"]["comm"]]
            for r in records(since, kind="violation", name=policy)]
    known = {SECRET, *(expected or {}), *([INNER] if sandboxes else [])}
    others = [r for r in told if r[0] not in known]
    expect_equal(f"other refusals ({inside[-200:]!r} {error[-600:]!r})", others, [])
    expect_equal("refusals that were expected", {r[0] for r in told}, known)
    expect_equal("events that were lost", records(since, kind="lost"), [])
    expect(refusals(name=policy) - counted >= len(told), f"{refusals(name=policy) - counted} counted, {len(told)} told")
    expect_equal(f"what it says ({error[-600:]!r})", inside,
                 outside.replace("secret 0\n", "secret 1\n").replace("inner 0\n", "inner 1\n"))
    expect_text("the refusal", error, rf"cat: {SECRET}: Permission denied")
    if sandboxes:
        refused_to(since, INNER, "cat", policy)
        expect_equal("refusals in sandboxes", [r[0] for r in told].count(INNER), sandboxes)
        expect_equal("what sandboxes say", error.count(f"cat: {INNER}: Permission denied"), sandboxes)


GIT = """\
git init -q repo
cd repo
echo one >f && git add f && git commit -q -m one
git worktree add -q ../tree -b topic
(cd ../tree && echo two >>f && git commit -q -am two && git status --short)
git merge -q topic
git worktree remove ../tree
git clone -q --bare . ../lib.git
git submodule --quiet add "$PWD/../lib.git" sub && git commit -q -m sub
git tag -a -m v1 v1 && echo three >>f && git stash -q && git stash pop -q && git commit -q -am three
git gc -q && git fsck --strict --no-dangling 2>/dev/null
cd ..
git clone -q --recurse-submodules repo copy
(cd copy && git checkout -q -b work && git rm -q f && git commit -q -m four && git push -q origin work)
git -C repo log --all --format=%s
git -C copy submodule status
# .git as a link and as a file.
git clone -q --separate-git-dir linked.git lib.git linked && rm linked/.git && ln -s ../linked.git linked/.git
git -C linked status --short && git -C linked commit -q --allow-empty -m five && git -C linked log -1 --format=%s
git init -q --separate-git-dir apart.git apart && git -C apart commit -q --allow-empty -m six
git -C apart log --format=%s
# Hard links: the objects of a clone, and a store's files in a tree, as pnpm and cargo have them.
git clone -q --local --no-checkout repo local && test -n "$(find local/.git/objects -type f -links +1)"
git -C local fsck --strict --no-dangling 2>/dev/null && git -C local log -1 --format=%s
mkdir -p store tree/a && echo seven >store/7 && ln store/7 tree/a/7 && mv tree/a tree/b && cat tree/b/7 store/7
cp -lr tree copied && cat copied/b/7 && rm -r tree store && cat copied/b/7
"""


@case("tools")
def git():
    """Commits, worktrees, submodules, clones, gc, a push; what hard links have."""
    proved("git", GIT, ["(?m)^four\n", r"(?m)^ [0-9a-f]{40} sub ", "(?m)^five\nsix\n", "(?m)^(seven\n){4}"])


def packed(files):
    """The same bytes each time."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, (mode, text) in files.items():
            info = tarfile.TarInfo("package/" + name)
            info.size, info.mode = len(text), mode
            tar.addfile(info, io.BytesIO(text.encode()))
    return gzip.compress(out.getvalue(), mtime=0)


PACKAGES = {
    "lefty": {
        "package.json": (0o644, json.dumps({
            "name": "lefty", "version": "1.0.0", "bin": {"lefty": "cli.js"}, "dependencies": {"righty": "1.0.0"},
            "scripts": {"install": "node -p '40 + 2' >made"}})),
        "cli.js": (0o755, "#!/usr/bin/env node\nconsole.log('lefty', require('.')())\n"),
        "index.js": (0o644, "module.exports = () => require('righty') + 1\n"),
    },
    "righty": {
        "package.json": (0o644, json.dumps({"name": "righty", "version": "1.0.0"})),
        "index.js": (0o644, "module.exports = 41\n"),
    },
}


def prepare_npm(project):
    """A project with its lock file, and a cache that has the packages by their digests, as npm keeps them."""
    manifest = {"name": "project", "version": "1.0.0", "dependencies": {"lefty": "1.0.0"}}
    lock = {"name": "project", "version": "1.0.0", "lockfileVersion": 3, "requires": True, "packages": {"": manifest}}
    for name, files in PACKAGES.items():
        data = packed(files)
        digest = hashlib.sha512(data)
        path = f"{HOME}/.npm/_cacache/content-v2/sha512/{digest.hexdigest()[:2]}/{digest.hexdigest()[2:4]}"
        os.makedirs(path)
        with open(f"{path}/{digest.hexdigest()[4:]}", "wb") as f:
            f.write(data)
        about = json.loads(files["package.json"][1])
        lock["packages"]["node_modules/" + name] = {
            "version": "1.0.0", "resolved": f"https://registry.npmjs.org/{name}/-/{name}-1.0.0.tgz",
            "integrity": "sha512-" + base64.b64encode(digest.digest()).decode(),
            **({"hasInstallScript": True, "bin": about["bin"], "dependencies": about["dependencies"]}
               if name == "lefty" else {})}
    write(f"{project}/package.json", json.dumps(manifest))
    write(f"{project}/package-lock.json", json.dumps(lock))


NPM = """\
npm ci --silent
ls node_modules
node_modules/.bin/lefty
cat node_modules/lefty/made
"""


@case("tools", seconds=300)
def npm_ci():
    """npm ci from its cache, with the script of a package's installation, and its program."""
    proved("npm", NPM, ["(?m)^lefty\nrighty\n", "(?m)^lefty 42\n42\n"], prepare=prepare_npm,
           expected={"netlink": "npm lists the host's addresses at its start; there is no network"})


SEED = f"{TOP}/seed"  # an earlier run of pnpm's


class Registry(http.server.BaseHTTPRequestHandler):
    """What npm's registry says of PACKAGES."""

    def do_GET(self):
        name = self.path[1:].split("/")[0]
        if name not in PACKAGES:
            self.send_error(404)
            return
        data = packed(PACKAGES[name])
        if not self.path.endswith(".tgz"):
            digest = base64.b64encode(hashlib.sha512(data).digest()).decode()
            version = {**json.loads(PACKAGES[name]["package.json"][1]), "dist": {
                "tarball": f"http://{self.headers['Host']}/{name}/-/{name}-1.0.0.tgz", "integrity": "sha512-" + digest}}
            data = json.dumps({"name": name, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format, *args):
        pass


def project_of(directory, **more):
    write(f"{directory}/package.json", json.dumps(
        {"name": "project", "version": "1.0.0", "dependencies": {"lefty": "1.0.0"}, **more}))


def fill_store():
    """The store and the lock file that pnpm makes by a registry, once."""
    if os.path.exists(SEED):
        return
    project_of(f"{SEED}/project", pnpm={"onlyBuiltDependencies": ["lefty"]})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry) as registry:
        threading.Thread(target=registry.serve_forever, daemon=True).start()
        must("node", f"{MODULES}/pnpm/bin/pnpm.cjs", "install", "--ignore-scripts",
             f"--registry=http://127.0.0.1:{registry.server_port}/", seconds=300, cwd=f"{SEED}/project",
             env={**os.environ, "HOME": SEED, "npm_config_update_notifier": "false"})
        registry.shutdown()
    shutil.rmtree(f"{SEED}/project/node_modules")


def prepare_pnpm(project):
    """A store whose files have one name each, and beside it a file that had two before the policy."""
    fill_store()
    for name in ("package.json", "pnpm-lock.yaml"):
        shutil.copy2(f"{SEED}/project/{name}", f"{project}/{name}")
    shutil.copytree(f"{SEED}/.local", f"{HOME}/.local", symlinks=True)
    write(f"{project}/older/one", "older\n")
    os.link(f"{project}/older/one", f"{project}/older/two")


def prepare_pnpm_kept(project):
    """The same, and another project in which all of the store is linked."""
    prepare_pnpm(project)
    os.makedirs(f"{project}/earlier/node_modules")
    for n, path in enumerate(sorted(glob.glob(f"{HOME}/.local/share/pnpm/store/v10/files/*/*"))):
        os.link(path, f"{project}/earlier/node_modules/{n}")


PNPM_INSTALL = f"""\
pnpm() {{ node {MODULES}/pnpm/bin/pnpm.cjs "$@"; }}
cat older/one 2>/dev/null >copy || true
[[ ! -e earlier ]] || cat earlier/node_modules/* | grep -c righty
pnpm install --frozen-lockfile --silent
ls node_modules
node_modules/.bin/lefty
cat node_modules/lefty/made
righty=$(stat -c %i node_modules/.pnpm/righty@1.0.0/node_modules/righty/index.js)
cd "$HOME/.local/share/pnpm" && find store -inum "$righty" | wc -l
"""
OLDER = "a hard link that is older than the policy, where deny/credentials denies by pattern: see FILES WITH SEVERAL NAMES"


@case("packages", seconds=400)
def pnpm():
    """pnpm installs out of its store by hard links, runs what a package's installation runs, and its program."""
    installed("pnpm")
    proved("pnpm", PNPM_INSTALL, ["^lefty\nlefty 42\n42\n1\n"], prepare=prepare_pnpm,
           expected={f"{WORKSPACE}/pnpm/older/one": OLDER})


@case("packages", seconds=400)
def pnpm_kept_store():
    """The same by a store of which an earlier run has links, for which the policy says hardlinks: allow."""
    installed("pnpm")
    proved("kept", PNPM_INSTALL, ["^[0-9]+\nlefty\nlefty 42\n42\n1\n"], policy="keeper", prepare=prepare_pnpm_kept,
           expected={f"{WORKSPACE}/kept/older/one": OLDER})


def prepare_yarn(project):
    project_of(project, license="MIT")
    lock = "# yarn lockfile v1\n\n\n"
    os.makedirs(f"{project}/mirror")
    for name, files in PACKAGES.items():
        data, needs = packed(files), json.loads(files["package.json"][1]).get("dependencies", {})
        with open(f"{project}/mirror/{name}-1.0.0.tgz", "wb") as f:
            f.write(data)
        lock += (f'{name}@1.0.0:\n  version "1.0.0"\n'
                 f'  resolved "https://registry.yarnpkg.com/{name}/-/{name}-1.0.0.tgz#{hashlib.sha1(data).hexdigest()}"\n'
                 + "".join(f'  dependencies:\n    {n} "{v}"\n' for n, v in needs.items()) + "\n")
    write(f"{project}/yarn.lock", lock)
    write(f"{project}/.yarnrc", 'yarn-offline-mirror "./mirror"\n')


# Its wrappers of node and yarn stand in TMPDIR, where nothing that is written runs.
YARN = f"""\
export TMPDIR=$PWD/tmp && mkdir tmp
node {MODULES}/yarn/bin/yarn.js install --offline --frozen-lockfile --non-interactive --silent
ls node_modules
node_modules/.bin/lefty
cat node_modules/lefty/made
"""


@case("packages", seconds=300)
def yarn():
    """yarn installs out of a mirror in the workspace."""
    installed("yarn")
    proved("yarn", YARN, ["^lefty\nrighty\nlefty 42\n42\n"], prepare=prepare_yarn, expected={
        "netlink": "yarn lists the host's addresses at its start; there is no network",
        f"{HOME}/.yarn": "where yarn would install for all projects: who has such a directory names it in a rule"})


def prepare_pip(project):
    files = {
        "wheely/__init__.py": "def main():\n    print('wheely', 42)\n",
        "wheely-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: wheely\nVersion: 1.0\n",
        "wheely-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "wheely-1.0.dist-info/entry_points.txt": "[console_scripts]\nwheely = wheely:main\n",
    }
    record = "".join(f"{name},,\n" for name in [*files, "wheely-1.0.dist-info/RECORD"])
    with zipfile.ZipFile(f"{project}/wheely-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in {**files, "wheely-1.0.dist-info/RECORD": record}.items():
            wheel.writestr(name, text)


PIP = """\
python3 -m venv --without-pip venv
python3 -m pip --python venv/bin/python install -q --no-index --disable-pip-version-check ./wheely-1.0-py3-none-any.whl
venv/bin/wheely
venv/bin/python -c 'import wheely, sys; print(wheely.__file__, sys.prefix)'
"""


@case("tools", seconds=300)
def pip_install():
    """pip installs a wheel into a new environment, whose program then runs."""
    proved("pip", PIP, ["(?m)^wheely 42$", f"{WORKSPACE}/pip/venv"], prepare=prepare_pip,
           expected={"inet6": "urllib3 asks at its import whether there is IPv6; there is no network"})


MULTIPROCESSING = """\
import asyncio, concurrent.futures, multiprocessing as mp, os
from multiprocessing import shared_memory


def square(n):
    return n * n


def count(lock, value, array, queue):
    for _ in range(20):
        with lock:
            value.value += 1
    array[0] = value.value
    queue.put(os.getpid() != os.getppid())


def fill(name):
    block = shared_memory.SharedMemory(name)
    block.buf[:4] = b"done"
    block.close()


def main(method):
    context = mp.get_context(method)
    lock, value, array, queue = context.Lock(), context.Value("i"), context.Array("i", 4), context.Queue()
    children = [context.Process(target=count, args=(lock, value, array, queue)) for _ in range(2)]
    for child in children:
        child.start()
    told = [queue.get(timeout=100) for _ in children]
    for child in children:
        child.join()
    print(method, value.value, max(array) <= 40, told, [child.exitcode for child in children], flush=True)
    with concurrent.futures.ProcessPoolExecutor(2, context) as pool:
        print(method, list(pool.map(square, range(5))), flush=True)
    block = shared_memory.SharedMemory(create=True, size=100)
    child = context.Process(target=fill, args=(block.name,))
    child.start()
    child.join()
    print(method, bytes(block.buf[:4]), flush=True)
    block.close()
    block.unlink()


async def shell():
    child = await asyncio.create_subprocess_exec("cat", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    print((await child.communicate(b"asyncio"))[0].decode())


if __name__ == "__main__":
    for method in ("fork", "forkserver"):
        main(method)
    with mp.Manager() as manager:
        shared = manager.dict(a=1)
        print("manager", shared["a"])
    asyncio.run(shell())
"""


def prepare_multiprocessing(project):
    write(f"{project}/many.py", MULTIPROCESSING)


@case("tools", seconds=300)
def python_multiprocessing():
    """Locks (SemLock), values, queues, pools and shared memory, by fork and by the fork server; a manager."""
    proved("many", "python3 many.py\n", [
        r"forkserver 40 True \[True, True\] \[0, 0\]", r"forkserver \[0, 1, 4, 9, 16\]", "forkserver b'done'",
        "manager 1\nasyncio\n"], prepare=prepare_multiprocessing)


NODE = """\
const {spawnSync, execFileSync, execSync, fork} = require("child_process");
const {Worker, isMainThread, parentPort} = require("worker_threads");
const fs = require("fs"), net = require("net");
if (process.send) {
    process.send("forked");
    process.disconnect();
} else if (!isMainThread) {
    parentPort.postMessage("worker");
} else {
    const r = spawnSync("sh", ["-c", "cat; echo error >&2; exit 3"], {input: "input"});
    console.log(r.error, r.status, r.signal, String(r.stdout), String(r.stderr).trim());
    const big = spawnSync("head", ["-c", "1000000", "/dev/zero"], {maxBuffer: 2e6});
    console.log(big.error, big.stdout.length);
    console.log(spawnSync("no-such-program").error.code, spawnSync("sleep", ["60"], {timeout: 50}).error.code);
    console.log(String(execFileSync("git", ["--version"])).slice(0, 11));
    console.log(String(execSync("echo shell | tr a-z A-Z")).trim());
    fs.mkdirSync("watched");
    const watcher = fs.watch("watched", (what, name) => {
        watcher.close();
        console.log("watched", name);
        fork(__filename).on("message", (m) => console.log(m)).on("exit", () => {
            new Worker(__filename).on("message", (m) => console.log(m)).on("exit", () => {
                const path = process.env.TMPDIR + "/node.sock";
                const server = net.createServer((s) => s.end("served")).listen(path, () => {
                    net.connect(path).on("data", (d) => console.log(String(d))).on("close", () => server.close());
                });
            });
        });
    });
    fs.writeFileSync("watched/file", "");
}
"""


def prepare_node(project):
    write(f"{project}/spawn.js", NODE)


@case("tools")
def node_spawn():
    """spawnSync has no error that its program did not make; fork, worker threads, a socket in TMPDIR."""
    proved("node", "node spawn.js\n", [
        "undefined 3 null input error\nundefined 1000000\nENOENT ETIMEDOUT\ngit version\nSHELL\n",
        "watched file\nforked\nworker\nserved\n"], prepare=prepare_node)


GCC = {
    "Makefile": """\
CFLAGS = -O1 -g -Wall
main: main.o libanswer.a plugin.so
	$(CC) -o $@ main.o -L. -lanswer -ldl -lpthread
libanswer.a: answer.o
	$(AR) rcs $@ $^
plugin.so: plugin.c
	$(CC) $(CFLAGS) -shared -fPIC -o $@ $<
clean:
	rm -f *.o *.a *.so main
""",
    "answer.c": "int answer(void) { return 42; }\n",
    "plugin.c": "int plugin(void) { return 7; }\n",
    "main.c": """\
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
int answer(void);
static void *work(void *p) { *(int *)p = answer(); return NULL; }
int main(void)
{
	int n = 0;
	pthread_t t;
	void *so = dlopen("./plugin.so", RTLD_NOW);
	int (*plugin)(void) = so ? (int (*)(void))dlsym(so, "plugin") : NULL;
	pthread_create(&t, NULL, work, &n);
	pthread_join(t, NULL);
	printf("built %d %d\\n", n, plugin ? plugin() : -1);
	return 0;
}
""",
}


def prepare_gcc(project):
    for name, text in GCC.items():
        write(f"{project}/{name}", text)


@case("tools")
def gcc_build():
    """make, two jobs: objects, an archive, a shared object, and what was built runs and loads it."""
    proved("gcc", "make -s -j2\n./main\nmake -s clean\nls\n", ["built 42 7\nMakefile\nanswer.c\n"], prepare=prepare_gcc)


SQLITE = """\
sqlite3 a.db <<'S'
create table t(n integer primary key, s text);
begin;
with recursive c(n) as (select 1 union all select n + 1 from c where n < 2000)
  insert into t select n, hex(randomblob(20)) from c;
commit;
select count(*), sum(n) from t;
S
sqlite3 a.db 'pragma journal_mode = wal; insert into t values (0, 1); select count(*) from t;
  pragma wal_checkpoint(truncate);'
sqlite3 a.db 'attach "b.db" as b; create table b.t as select * from t order by s; vacuum; pragma integrity_check;'
sqlite3 b.db .dump | sqlite3 c.db
sqlite3 c.db 'pragma temp_store = file; create temp table x as select * from t; select count(*) from x;
  delete from t; vacuum;'
sqlite3 -readonly a.db 'select max(n) from t'
python3 -c 'import sqlite3; print("python", sqlite3.connect("a.db").execute("select count(*) from t").fetchone())'
ls
"""


@case("tools")
def sqlite():
    """Rollback journal and write-ahead log, temporary files, a dump, a vacuum."""
    proved("sqlite", SQLITE, ["2000[|]2001000\nwal\n2001\n0[|]0[|]0\nok\n2001\n2000\n",
                              "python [(]2001,[)]\na.db\nb.db\nc.db\n"])


SSH_KEYGEN = """\
ssh-keygen -q -t ed25519 -N '' -C comment -f deploy
ssh-keygen -l -f deploy.pub | sed 's/SHA256:[^ ]*/SHA256/'
ssh-keygen -y -f deploy | diff - deploy.pub && echo same
ssh-keygen -q -p -P '' -N word -f deploy >/dev/null
echo text >text
ssh-keygen -q -p -P word -N '' -f deploy >/dev/null
ssh-keygen -q -Y sign -n file -f deploy text 2>/dev/null
echo "t $(cat deploy.pub)" >allowed
ssh-keygen -Y verify -f allowed -I t -n file -s text.sig <text | sed 's/ key .*//'
stat -c '%a %n' deploy*
"""


@case("tools")
def ssh_keygen():
    """A key is made, read, gets and loses a passphrase, signs; the signature is checked."""
    proved("keygen", SSH_KEYGEN, ["256 SHA256 comment [(]ED25519[)]\nsame\n",
                                  "Good \"file\" signature for t with ED25519\n600 deploy\n644 deploy.pub\n"])


def prepare_gpg(_project):
    os.makedirs(f"{HOME}/.gnupg", mode=0o700)


GPG = """\
gpg --batch -q --passphrase '' --quick-generate-key 'T <t@example.org>' ed25519 sign never 2>/dev/null
gpg --batch -q --list-secret-keys --with-colons | grep -c ^sec
echo text >text
gpg --batch -q --clearsign text
head -n 1 text.asc
gpg --batch -q --verify --status-fd 1 text.asc 2>/dev/null | grep -o GOODSIG
gpg --batch -q -o signed --detach-sign text && gpg --batch -q --verify signed text && echo detached
gpg-connect-agent 'getinfo version' /bye | grep OK
gpg --batch -q --export -a | grep BEGIN
gpgconf --kill gpg-agent
sed -i 's/text/changed/' text.asc
gpg --batch -q --verify text.asc || echo bad
"""


@case("tools", seconds=300)
def gpg_clearsign():
    """gpg starts its agent, makes a key by it, signs with it, and what was changed does not verify."""
    proved("gpg", GPG, ["^1\n-----BEGIN PGP SIGNED MESSAGE-----\nGOODSIG\ndetached\nOK\n",
                        "-----BEGIN PGP PUBLIC KEY BLOCK-----\nbad\n"], policy="signer", prepare=prepare_gpg)


TAR = """\
mkdir -p a/deep/er out again
echo one >a/one && ln a/one a/deep/hard && ln -s ../one a/deep/soft && chmod 640 a/one && truncate -s 1M a/sparse
touch -d @1700000000 a/one
tar -cSzf a.tar.gz a
tar -xpzf a.tar.gz -C out
diff -r a out/a && stat -c '%a %h %Y %n' out/a/one && readlink out/a/deep/soft
tar -cf - --xattrs --acls a | tar -xpf - --xattrs --acls -C again && diff -r a again/a
tar -tzf a.tar.gz | sort | tail -n 1
tar -rf b.tar -C a one && tar --delete -f b.tar one && tar -tf b.tar | wc -l
# A name of several is as good as the others when one goes; a directory by a link is still that directory.
rm a/deep/hard && echo more >>a/one && mv a/one a/two && cat a/two
ln -s a/deep link && cd link && echo linked >f && cat f && cd .. && ls a/deep
"""


@case("tools")
def tar():
    """Archives with hard links, symbolic links, holes, modes and times, by files and by pipes."""
    proved("tar", TAR, ["640 2 1700000000 out/a/one\n../one\na/sparse\n0\none\nmore\nlinked\n"])


RIPGREP = """\
mkdir -p d/x && git init -q d && echo ignored >d/.gitignore && echo needle >d/ignored
for i in $(seq 150); do echo "needle $i" >d/x/$i; done
cd d
timeout 60 rg -n needle | head -n 1 | sed 's/[0-9]*:1:needle [0-9]*/first/' || [[ ${PIPESTATUS[0]} == 1[34]* ]]
timeout 60 rg -c needle | wc -l
timeout 60 rg --files | wc -l
timeout 60 rg -q needle 77 x </dev/null || timeout 60 rg -q 'needle 77$' && echo found
echo piped needle | timeout 60 rg -o needle
timeout 60 yes | head -n 1
timeout 60 rg --json needle x/1 | grep -c '"type":"match"'
"""


@case("tools")
def ripgrep():
    """rg with its threads, piped to a head that ends before it, by ignore files, and from a pipe."""
    proved("rg", "set +o pipefail\n" + RIPGREP, ["x/first\n150\n150\nfound\nneedle\ny\n1\n"])


TMUX = """\
export TMUX_TMPDIR=$TMPDIR HISTFILE=
tmux -f /dev/null new-session -d -x 80 -y 24 -s main 'bash --norc --noprofile'
tmux set-option -g history-limit 1000
tmux send-keys -t main "stty -a >/dev/null; tty >/dev/null; echo \\$((6 * 7)) >answer; tmux wait-for -S done" Enter
timeout 100 tmux wait-for done
cat answer
tmux send-keys -t main "clear; echo on the \\$TERM; tmux wait-for -S seen" Enter
timeout 100 tmux wait-for seen
tmux capture-pane -p -t main | grep '^on the'
tmux display-message -p -t main '#{pane_current_command}'
tmux split-window -t main 'cat >from-pane' && tmux list-panes -t main | wc -l
tmux kill-server
"""


@case("tools")
def tmux():
    """A server with two terminals: a shell in one answers what it is sent, and what it shows is read back."""
    proved("tmux", TMUX, ["^42\non the (tmux|screen)\\S*\nbash\n2\n"])


PS = """\
sleep 1000 & child=$! me=$BASHPID
trap "kill $child" EXIT
sed -n s/^Name:.//p /proc/$child/status
tr '\\0' ' ' </proc/$child/cmdline; echo
ps -o ppid=,args= -p $child | sed "s/^ *$me /mine /"
ls /proc/$child/fd | wc -l
[[ /proc/$child/exe -ef /usr/bin/sleep ]] && echo exe
# What is seen outside of process 1 is a secret as well.
for list in 'ps aux' 'ps -ef' 'top -bn1'; do
	$list >listed
	awk -v p=$child '$1 == p || $2 == p' listed | grep -c sleep
	awk '$1 == 1 || $2 == 1' listed | grep -Eq 'init|systemd' && echo secret 0 || echo secret 1
done
"""


@case("tools")
def ps():
    """What ps, top and /proc say of a process of the compartment; of those outside, nothing."""
    proved("ps", PS, ["^sleep\nsleep 1000 \nmine sleep 1000\n3\nexe\n(1\nsecret 0\n){3}"], expected={
        "/proc/PID/stat": "ps and top ask every process that /proc lists", "/run/utmp": "top counts who is logged in",
        f"{HOME}/.config": "top makes where its settings would stand; that is its operator's to make"})


BWRAP = """\
sandbox() {
	bwrap --new-session --die-with-parent --unshare-user --unshare-pid --unshare-ipc --unshare-net --unshare-uts \
		--unshare-cgroup-try --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --bind "$PWD" "$PWD" --chdir "$PWD" "$@"
}
sandbox sh -c 'echo inside $$; echo new >made; read -r pid rest </proc/self/stat; echo $pid'
cat made
sandbox sh -c 'mkdir /tmp/d && echo scratch >/tmp/d/x && mv /tmp/d/x /tmp/y && cat /tmp/y && echo lost >/dev/null'
sandbox --hostname box --setenv A b python3 -c 'import os; print(os.uname().nodename, os.environ["A"])'
sandbox git init -q repo && sandbox git -C repo commit -q --allow-empty -m one && git -C repo log --format=%s
sandbox bwrap --unshare-user --unshare-pid --ro-bind / / --proc /proc sh -c 'echo twice $$'
ls /tmp/y 2>/dev/null || echo gone
inner() { "$@" cat "$INNER" >/dev/null && echo inner 0 || echo inner 1; }
inner sandbox
inner sandbox bwrap --unshare-user --unshare-pid --ro-bind / / --proc /proc
"""


@case("tools")
def bubblewrap():
    """Sandboxes as Codex and srt make them for each command, and one in another, stay confined."""
    proved("bwrap", BWRAP, ["^inside 2\n2\nnew\nscratch\nbox b\none\ntwice 2\ngone\n"], policy="codex", sandboxes=2)


def installed(package):
    """What --add brought of npm's cache, moved to where npm -g would put it."""
    if not os.path.exists(f"{MODULES}/{package}"):
        found = glob.glob(f"/lab/*/node_modules/{package}") or glob.glob(f"{MODULES}/*/node_modules/{package}")
        expect_equal(f"copies of {package} that came with this boot", len(found), 1)
        modules = found[0].removesuffix("/" + package)
        os.makedirs(os.path.dirname(f"{MODULES}/{package}"), exist_ok=True)
        os.rename(found[0], f"{MODULES}/{package}")
        os.rename(modules, f"{MODULES}/{package}/node_modules")


# srt's own proxies listen on TCP, which `network: none` does not have: it is told of others, and starts none.
SRT_SETTINGS = {
    "network": {"allowedDomains": [], "deniedDomains": [], "httpProxyPort": 3128, "socksProxyPort": 1080},
    "filesystem": {"denyRead": [f"{WORKSPACE}/srt/hidden"], "allowWrite": ["."], "denyWrite": []},
}


def prepare_srt(project):
    write(f"{project}/settings.json", json.dumps(SRT_SETTINGS))
    write(f"{project}/input", "workspace\n")
    write(f"{project}/hidden", "from srt\n")


SRT = f"""\
srt() {{ node {MODULES}/@anthropic-ai/sandbox-runtime/dist/cli.js --settings settings.json "$@"; }}
srt true && echo true
# What srt itself is for holds as well.
srt -c 'cat input; echo $((6 * 7)) >made; cat made; cat hidden 2>/dev/null || echo hidden
	echo x 2>/dev/null >../outside || echo unwritten; cat "$INNER" >/dev/null && echo inner 0 || echo inner 1'
"""


@case("tools", seconds=400)
def srt():
    """Anthropic's sandbox runtime: its own refusals hold, and a command in it is confined by ours."""
    installed("@anthropic-ai/sandbox-runtime")
    proved("srt", SRT, ["^true\nworkspace\n42\nhidden\nunwritten\n"], policy="codex", prepare=prepare_srt, sandboxes=1,
           expected={"inet": "srt's relays to its proxies listen on TCP in each sandbox; there is no network"})


def prepare_codex(project):
    write(f"{project}/input", "workspace\n")
    # As policies/codex.yaml says of them.
    for directory in (f"{HOME}/.codex", f"{WORKSPACE}/.codex", f"{WORKSPACE}/.git"):
        os.makedirs(directory)
    for left in glob.glob("/tmp/codex-*"):
        shutil.rmtree(left)


CODEX = f"""\
codex() {{ node {MODULES}/@openai/codex/bin/codex.js "$@"; }}
codex sandbox -- true && echo true
codex sandbox -- sh -c 'cat input; echo x 2>/dev/null >made || echo unwritten'
writer="-c sandbox_mode=workspace-write -c sandbox_workspace_write.exclude_slash_tmp=true"
codex sandbox $writer -- sh -c 'echo $((6 * 7)) >made'
(cd .. && codex sandbox $writer -- sh -c 'echo root >made; cat made; echo x 2>/dev/null >.git/config || echo unwritten')
cat made
codex sandbox -- cat "$INNER" >/dev/null && echo inner 0 || echo inner 1
"""


@case("codex", seconds=600)
def codex_sandbox():
    """Codex's sandbox for commands: its own refusals hold, and a command in it is confined by ours."""
    installed("@openai/codex")
    proved("codex", CODEX, ["^true\nworkspace\nunwritten\nroot\nunwritten\n42\n"], policy="codex",
           prepare=prepare_codex, sandboxes=1)
