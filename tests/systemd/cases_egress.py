# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Destinations by name, from a client's call to the wire: what policies list and an operator grants is reached by
programs as they are, and nothing else is. Whatever is refused inside works outside first, and leaves no packet."""
import contextlib
import json
import os
import re
import signal
import socket
import time

import cases_tools
import world
from cases_tools import RUN, USER, WORKSPACE
from harness import (AGENT, LAB, POLICIES, UNITS, agent_is_back, agent_start, attach, case, compartment, compartments,
                     daemon_reload, expect, expect_equal, expect_text, main_pid, mark, must, read, records, run,
                     status, wait_for, write)

CONFIG = f"{POLICIES}/egress.yaml"
RANGE = "198.18.0.0/15"
ASK, MUSL = f"{WORKSPACE}/ask.py", f"{WORKSPACE}/musl"
MUSL_LIBC = "/lib/ld-musl-x86_64.so.1"
API, GIT = "api.example.com", "git.example.com"

COM = {"api": [world.PAGES], "git": [world.PAGES], "upload": [world.PAGES], "unlisted": [world.PAGES],
       "secret.tunnel": [world.PAGES]}
# Below bad.example.org are names of an attacker's who was listed.
ORG = {"a.cdn": [world.PAGES], "b.a.cdn": [world.PAGES], "cdn": [world.PAGES], "evilcdn": [world.PAGES],
       "alias.cdn": ["git.example.com."],
       "private.bad": [world.PRIVATE], "mixed.bad": [world.PAGES, world.PRIVATE], "metadata.bad": [world.METADATA],
       "loopback.bad": ["127.0.0.1"], "loop.bad": ["loops.bad.example.org."], "loops.bad": ["loop.bad.example.org."],
       "alias.bad": ["private.bad.example.org."], "here.bad": ["9.8.8.2"], "gateway.bad": [world.GATEWAY],
       "six.bad": [world.PAGES, "fd00::1"], "mapped.bad": [f"::ffff:{world.PRIVATE}"], "rebind.bad": [world.PAGES]}
# Who has a name of their own that their programs ask: both are "api".
APIS = {"api": [world.PAGES]}
CERTIFIED = ["api.example.com", "git.example.com", "*.cdn.example.org", "unlisted.example.com", "api.github.com",
             "api.openai.com"]

DESTINATIONS = """\
network:
  egress:
    - {to: "api.example.com:443", discloses: "prompts, workspace excerpts", max-upload: 1MiB, tls: true}
    - {to: "git.example.com:22,80,443", discloses: "names of repositories", max-upload: 5MiB}
    - {to: "upload.example.com:80", discloses: "test data", max-upload: 64KiB}
    - {to: "*.cdn.example.org:80,443", discloses: "names of packages", max-upload: 1MiB}
    - {to: "*.bad.example.org:80", discloses: "nothing", max-upload: 1MiB}
"""
PROGRAMS = f"""\
exec:
  - {{on: [/usr/bin/curl, /usr/bin/getent, /usr/bin/gron, {MUSL}]}}
"""
LOADER = f"""\
files:
  - {{allow: [read, map-exec, interp], on: [{MUSL_LIBC}]}}
"""
AGENT_SOCK = f"{RUN}/agent"  # of ssh's
CLIENT = (cases_tools.CODER.replace("name: coder", "name: client").replace("network: none\n", DESTINATIONS)
          .replace("exec:\n", PROGRAMS).replace("files:\n", LOADER)
          .replace("  - base/shell\n", "  - base/shell\n  - base/ssh-client\n")
          .replace("vars: [", f"vars: [SSH_AUTH_SOCK={AGENT_SOCK}, "))
cases_tools.POLICY_TEXTS["client"] = CLIENT

# As they are told to trust an authority of their user's.
TRUST = "".join(f"export {name}={world.CA}\n"
                for name in ("CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "GIT_SSL_CAINFO"))

ASK_PY = """\
# ask.py [-t] SERVER NAME TYPE: one query by hand; who answered, its code, and what the answer has
import json, socket, struct, sys
tcp = sys.argv[1] == "-t"
server, name, kind = sys.argv[1 + tcp:]
types = {"A": 1, "PTR": 12, "MX": 15, "TXT": 16, "AAAA": 28, "HTTPS": 65}
labels = b"".join(bytes([len(l)]) + l.encode() for l in name.split("."))
query = struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + labels + b"\\0" + struct.pack(">2H", types[kind], 1)
family = socket.AF_INET6 if ":" in server else socket.AF_INET
s = socket.socket(family, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM)
s.settimeout(30)
if tcp:
    s.connect((server, 53))
    s.sendall(struct.pack(">H", len(query)) + query)
    by = s.getpeername()
    answer = s.makefile("rb").read(struct.unpack(">H", s.makefile("rb", 0).read(2))[0])
else:
    s.sendto(query, (server, 53))
    answer, by = s.recvfrom(4096)
ident, flags, _, count, _, _ = struct.unpack(">6H", answer[:12])
at, found = 12 + len(labels) + 5, []
for _ in range(count):
    at += 2 if answer[at] & 0xc0 else answer.index(b"\\0", at) + 1 - at
    kind, _, _, size = struct.unpack(">2HIH", answer[at:at + 10])
    data = answer[at + 10:at + 10 + size]
    at += 10 + size
    if kind == 12:
        text, i = [], 0
        while data[i]:
            text.append(data[i + 1:i + 1 + data[i]].decode())
            i += 1 + data[i]
        found.append(".".join(text))
    else:
        found.append(socket.inet_ntoa(data) if kind == 1 else data.hex())
print(json.dumps([by[0], flags & 15, found]))
"""

# Against musl without its headers: what it shares with glibc on this machine.
MUSL_C = """\
struct addrinfo { int flags, family, socktype, protocol; unsigned int length; unsigned char *address; char *canon;
	struct addrinfo *next; };
int getaddrinfo(const char *, const char *, const struct addrinfo *, struct addrinfo **);
int printf(const char *, ...);
int socket(int, int, int), connect(int, const void *, unsigned int);
long write(int, const void *, unsigned long), read(int, void *, unsigned long);
int __libc_start_main(int (*)(int, char **), int, char **, ...);
void exit(int);
static int main_(int argc, char **argv)
{
	static const char get[] = "GET /hello HTTP/1.0\\r\\nHost: x\\r\\n\\r\\n";
	struct addrinfo hints = {.socktype = 1}, *found;
	char page[4096];
	long n, length = 0;
	int s, r = argc == 2 ? getaddrinfo(argv[1], "80", &hints, &found) : 9;
	if (r)
		return 10 - r;
	s = socket(found->family, 1, 0);
	if (connect(s, found->address, found->length))
		return 30;
	write(s, get, sizeof(get) - 1);
	while ((n = read(s, page + length, sizeof(page) - 1 - length)) > 0)
		length += n;
	page[length > 0 ? length : 0] = 0;
	for (n = length; n > 1 && page[n - 2] != '\\n';)
		n--;
	printf("musl %s", page + (n > 0 ? n - 1 : 0));
	return length <= 0;
}
void start(long *sp) { exit(__libc_start_main(main_, *sp, (char **)(sp + 1))); }
__asm__(".globl _start\\n_start: mov %rsp, %rdi\\n and $-16, %rsp\\n call start\\n");
"""


CUT = (7, 18, 35, 52, 55, 56)  # curl's, of a connection that was reset: as early as it sees it


# --- the stage ---


def stage(granted=True):
    """The world, once; the agent with its resolver, a client that is free and one that is confined."""
    if not world.RUNNING:
        world.make({"example.com": COM, "example.org": ORG, "github.com": APIS, "openai.com": APIS}, CERTIFIED)
        write(CONFIG, f"upstreams: [{world.NAMES}]\nconnect: 10s\n")
        run("systemctl", "try-restart", AGENT)
    agent_is_back()
    if not compartments(name="client"):
        cases_tools.begin("client")
        write(ASK, ASK_PY)
        build_musl()
    if granted:
        grant()
    elif compartment(name="client")["egress"]["grant"]:
        must("bulkhead", "revoke", "client", "egress")


def build_musl():
    write(f"{WORKSPACE}/musl.c", MUSL_C)
    must("gcc", "-O2", "-ffreestanding", "-fno-stack-protector", "-fno-pie", "-no-pie", "-nostdlib", "-o", MUSL,
         f"{WORKSPACE}/musl.c", f"-Wl,--dynamic-linker={MUSL_LIBC}", MUSL_LIBC)


def grant(*options):
    return must("bulkhead", "grant", "client", "egress", *options).out


def revoke():
    return must("bulkhead", "revoke", "client", "egress").out


class Done:
    def __init__(self, status_, out, err):
        self.status, self.out, self.err = status_, out, err
        self.text = f"status {status_}: {out[-300:]!r} {err[-500:]!r}"


def do(text, where="client"):
    """What a script does for who is confined, or "free"."""
    script = f"{WORKSPACE}/do.sh"
    os.makedirs(script[:-3], exist_ok=True)
    write(script, f"{TRUST}{text}\n")
    must("chown", "-R", f"{USER}:", script[:-3], script)
    began = time.monotonic()
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(200)
        s.connect(f"{RUN}/{where}")
        with s.makefile("rw") as lines:
            lines.write(script + "\n")
            lines.flush()
            done = int(lines.readline())
    print(f"# {time.monotonic() - began:.1f} s, {where}, {done}: {' / '.join(text.splitlines())[:100]}", flush=True)
    return Done(done, read(f"{script}.out"), read(f"{script}.err"))


def must_do(text, where="client", says=None):
    done = do(text, where)
    expect(done.status == 0, f"{where}: {text}: {done.text}")
    if says:
        expect_text(f"{where}: {text}", done.out, says)
    return done.out


def same(text, says):
    """Works outside and inside, and says the same."""
    outside = must_do(text, "free", says)
    since = mark()
    expect_equal(f"{text}: inside", must_do(text, "client"), outside)
    expect_equal("refused meanwhile", [[r["hook"], r["object"]] for r in refusals(since)], [])


def not_inside(text, says, status_=None, where="client"):
    """Works outside, and inside does not."""
    must_do(text, "free", says)
    done = do(text, where)
    expect(done.status == status_ if status_ else done.status, f"{where}: {text}: {done.text}")
    return done


def told(since, seconds=40, name="client", **fields):
    """The first record of what became of it."""
    return wait_for(f"a record of {fields}", lambda: records(since, kind="egress", name=name, **fields), seconds)[0]


def refusals(since, name="client", **fields):
    """What the kernel refused."""
    return records(since, kind="violation", name=name, **fields)


def ask(server, name, kind, where="client", *options):
    return json.loads(must_do(f"python3 {ASK} {' '.join(options)} {server} {name} {kind}", where))


def curl(url, *options):
    return " ".join(["curl", "-sS", "--max-time", "60", *options, url])


def is_synthetic(address):
    return address.startswith(("198.18.", "198.19."))


def address_of(name, where="client"):
    by, code, found = ask(world.NAMES, name, "A", where)
    expect_equal(f"the answer of {name}, by {by}", [code, len(found), is_synthetic(found[0])], [0, 1, True])
    return found[0]


def connects(address, port):
    """A program that says 0 or the name of an errno."""
    return (f"python3 -c 'import errno, socket; s = socket.create_connection((\"{address}\", {port}), 20); print(0)' "
            "2>&1 | tail -n 1")


@contextlib.contextmanager
def downloading(url=f"http://{GIT}/slow", options="", where="client"):
    """Something comes in slowly, for as long as it is let; yields a test of its end."""
    for name in ("slow", "slow.end"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{WORKSPACE}/do/{name}")
    must_do(f"(curl -sS {options} -o slow {url}; echo $? >slow.end) >/dev/null 2>&1 & echo $! >slow.pid", where)
    part = f"{WORKSPACE}/do/slow"
    wait_for("something came", lambda: os.path.exists(part) and os.path.getsize(part))
    expect(not read(f"{part}.end"), "the download ended by itself")
    yield lambda: read(f"{part}.end").strip()
    run("pkill", "-P", read(f"{part}.pid").strip())


def is_cut(ended, began, within):
    how = wait_for("the download ends", ended, 60)
    seconds = time.monotonic() - began
    expect(int(how) in CUT, f"curl ended with {how}")
    expect(seconds < within, f"cut after {seconds:.1f} s")


# --- before a grant ---


@case("egress", seconds=400)
def ungranted():
    """What the policy lists alone opens nothing: no name is told, no address connects, no packet leaves."""
    stage(granted=False)
    page = curl(f"https://{API}/hello")
    since, wire = mark(), world.wire()
    expect_text("status", must("bulkhead", "status").out,
                r"client \(\d+\) egress: .*: not granted \(bulkhead grant \d+ egress\)")
    done = do(page)
    expect_equal(f"curl's status ({done.err})", done.status, 6)
    expect_equal("its event", told(since, what="query", destination=API, type="A")["outcome"], "ungranted")
    # As if somebody knew the address.
    for address, outcome in (("198.18.0.2", "ungranted"), ("198.18.0.99", "unnamed address")):
        done = do(curl(f"http://{GIT}/hello", f"--resolve {GIT}:80:{address}"))
        expect(done.status in CUT, done.text)
        told(since, what="connect", port=80, outcome=outcome)
    expect_equal("packets", world.packets(wire), [])
    must_do(page, "free", "^hello")
    expect(world.packets(wire), "the record of the wire has nothing of who is free")


@case("egress")
def grants_that_cannot_be():
    """Whoever lists nothing, an unlisted name, another word, a user."""
    stage(granted=False)
    for argv, says in (((*"grant client egress --only".split(), "unlisted.example.com"), "its policy does not list it"),
                       (("grant", "client", "files"), "nothing that is granted"),
                       (("grant", "nobody", "egress"), "no such compartment"),
                       ((*"grant client egress --for".split(), "soon"), "--for soon: write")):
        run_status = run("bulkhead", *argv)
        expect(run_status.status in (1, 2), f"{argv}: {run_status.status} {run_status.text}")
        expect_text(" ".join(argv), run_status.err, says)
    who = run("setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "bulkhead", "grant", "client", "egress")
    expect_equal(f"a user's grant ({who.text})", who.status, 1)
    expect_equal("the grant", compartment(name="client")["egress"]["grant"], None)


# --- programs as they are ---


@case("egress")
def curl_as_it_is():
    """https and http, by a name of its own, a wildcard and an alias."""
    stage()
    since = mark()
    same(curl(f"https://{API}/hello"), "^hello")
    same(curl(f"http://{GIT}/hello"), "^hello")
    same(curl("https://a.cdn.example.org/hello"), "^hello")
    same(curl("http://alias.cdn.example.org/hello"), "^hello")
    flow = told(since, what="flow", destination=API)
    expect_equal("its record", [flow[k] for k in ("outcome", "address", "port")], ["ended", world.PAGES, 443])
    expect(flow["up"] and flow["down"], str(flow))
    expect_text("status", must("bulkhead", "status").out,
                r"client \(\d+\) egress: .* granted by uid 0; outlets in 1 of 1")


@case("egress")
def git_clones():
    """A clone over https."""
    stage()
    same(f"rm -rf copy && git clone -q https://{GIT}/repo.git copy && git -C copy log --format=%s && cat copy/f",
         "^from the world\nhello")


@case("egress")
def node_fetches():
    """fetch and libuv's lookup; c-ares."""
    stage()
    same(f"node -e 'fetch(\"https://{API}/hello\").then(r => r.text()).then(t => process.stdout.write(t))'", "^hello")
    lookup = (f"node -e 'require(\"dns\").promises.resolve4(\"{API}\").then(a => "
              "console.log(a.length, a[0].replace(/[.][0-9]+[.][0-9]+$/, \"\")))'")
    must_do(lookup, "free", "^1 8.8\n")
    must_do(lookup, "client", "^1 198.18\n")
    missing = f"node -e 'require(\"dns\").promises.resolve4(\"unlisted.example.com\").catch(e => console.log(e.code))'"
    must_do(missing, "client", "ENOTFOUND")


@case("egress")
def python_and_glibc():
    """urllib; getaddrinfo as getent calls it."""
    stage()
    same(f"python3 -c 'from urllib.request import urlopen; print(urlopen(\"https://{API}/hello\").read())'", "hello")
    must_do(f"getent ahosts {GIT}", "free", f"(?m)^{world.PAGES} ")
    must_do(f"getent ahosts {GIT}", "client", r"(?m)^198\.18\.")


@case("egress")
def musl_resolves():
    """musl, which asks all its servers at once by one socket."""
    stage()
    same(f"{MUSL} {GIT}", "^musl hello")


RESOLV_CONFS = {
    "IPv6 alone": f"nameserver {world.NAMES6}\n",
    "rotate": f"options rotate\nnameserver {world.OTHER}\nnameserver {world.NAMES}\nnameserver {world.NAMES6}\n",
    "TCP": f"options use-vc\nnameserver {world.NAMES}\n",
    "TCP over IPv6": f"options use-vc\nnameserver {world.NAMES6}\n",
    "a server that nobody is": "options timeout:20\nnameserver 5.5.5.5\n",
}


@case("egress", seconds=400)
def resolv_conf():
    """Whatever /etc/resolv.conf says: glibc, musl, c-ares, and the answers come by the name of who was asked."""
    stage()
    try:
        for what, text in RESOLV_CONFS.items():
            write("/etc/resolv.conf", text)
            if "5.5.5.5" not in text:
                must_do(f"getent ahostsv4 {GIT}", "free", f"(?m)^{world.PAGES} ")
            wire = world.wire()
            must_do(f"getent ahostsv4 {GIT}", "client", r"(?m)^198\.18\.")
            must_do(f"for i in 1 2 3; do getent ahostsv4 {GIT} >/dev/null || exit; done; {MUSL} {GIT}", "client",
                    "^musl hello")
            must_do(f"node -e 'require(\"dns\").promises.resolve4(\"{API}\").then(a => console.log(a[0]))'", "client",
                    r"^198\.18\.")
            strays = [line for line in world.packets(wire, "port 53") if world.NAMES + ".53" not in line]
            expect_equal(f"queries of others than the agent ({what})", strays, [])
    finally:
        write("/etc/resolv.conf", world.RESOLV_CONF)


# --- names that are not told ---


@case("egress")
def unlisted_names():
    """NXDOMAIN, and the wire knows nothing: names beside and below those that are listed, names that carry data."""
    stage()
    since, wire = mark(), world.wire()
    data = "6f6e6365207570" * 4
    names = ("unlisted.example.com", "example.net", "x.api.example.com", f"{data}.tunnel.example.com",
             f"{data}.{data}.{data}.example.net", "evilapi.example.com")
    for name in names:
        expect_equal(name, ask(world.NAMES, name, "A")[1:], [3, []])
        told(since, what="query", destination=name, type="A", outcome="unlisted")
        expect_equal(f"{name}, TXT", ask(world.NAMES, name, "TXT")[1:], [3, []])
    expect_equal("curl", do(curl("http://unlisted.example.com/hello")).status, 6)
    expect_equal("packets", world.packets(wire), [])
    for name in ("unlisted.example.com", "secret.tunnel.example.com"):
        expect_equal(f"{name}, free", ask(world.NAMES, name, "A", "free")[1:], [0, [world.PAGES]])
    expect(world.has_name(wire, "secret", "tunnel"), "the record of the wire has nothing of who is free")


@case("egress")
def wildcard_is_one_label():
    """What stands for one label is neither none nor two, nor a part of one."""
    stage()
    address_of("a.cdn.example.org")
    for name in ("cdn.example.org", "b.a.cdn.example.org", "evilcdn.example.org"):
        expect_equal(f"{name}, free", ask(world.NAMES, name, "A", "free")[1:], [0, [world.PAGES]])
    wire = world.wire()
    # Above names that there are: NXDOMAIN would deny those, too.
    expect_equal("the one above", ask(world.NAMES, "cdn.example.org", "A")[1:], [0, []])
    for name in ("b.a.cdn.example.org", "evilcdn.example.org"):
        expect_equal(name, ask(world.NAMES, name, "A")[1:], [3, []])
    # One that it stands for is told, and nobody is asked of it before it is used.
    address_of("6f6e6365.cdn.example.org")
    expect_equal("packets", world.packets(wire), [])


@case("egress")
def other_types():
    """AAAA, HTTPS, MX and TXT of what is listed: no data. The address's name: told."""
    stage()
    for kind in ("AAAA", "HTTPS", "MX", "TXT"):
        expect_equal(f"{kind} of {API}", ask(world.NAMES, API, kind)[1:], [0, []])
    address = address_of(API)
    reverse = ".".join(reversed(address.split("."))) + ".in-addr.arpa"
    expect_equal(f"PTR of {address}", ask(world.NAMES, reverse, "PTR")[1:], [0, [API]])
    expect_equal("PTR of another", ask(world.NAMES, "9.8.8.8.in-addr.arpa", "PTR")[1:], [3, []])
    expect_equal("case", ask(world.NAMES, "aPi.eXample.COM", "A")[1:], [0, [address]])


@case("egress")
def another_server():
    """A query to a server of its own choice is answered by the stub, in that server's name; none of it leaves."""
    stage()
    for options in ((), ("-t",)):
        expect_equal(f"free {options}", ask(world.OTHER, API, "A", "free", *options), [world.OTHER, 0, [world.PAGES]])
        wire = world.wire()
        by, code, found = ask(world.OTHER, API, "A", "client", *options)
        expect_equal(f"inside {options}: {found}", [by, code, is_synthetic(found[0])], [world.OTHER, 0, True])
        expect_equal(f"unlisted {options}", ask(world.OTHER, "unlisted.example.com", "A", "client", *options),
                     [world.OTHER, 3, []])
        expect_equal(f"packets {options}", world.packets(wire), [])
    by, code, found = ask(world.NAMES6, API, "A")
    expect_equal(f"by IPv6: {found}", [by, code, is_synthetic(found[0])], [world.NAMES6, 0, True])


# --- addresses that do not connect ---


@case("egress")
def direct():
    """A real address is refused by the kernel, TCP and UDP, IPv4 and IPv6. A synthetic one connects as IPv6, too."""
    stage()
    must_do(connects(f"::ffff:{address_of(GIT)}", 80), "client", "^0\n")
    for address, port, hook in ((world.PAGES, 443, "connect4"), (world.PAGES, 80, "connect4"),
                                (f"::ffff:{world.PAGES}", 443, "connect6"), (world.PRIVATE, 80, "connect4"),
                                (world.NAMES6, 80, "connect6")):
        must_do(connects(address, port), "free", "^0\n")
        since, wire = mark(), world.wire()
        must_do(connects(address, port), "client", "PermissionError: .*Permission denied")
        r = wait_for("its event", lambda: refusals(since))[0]
        expect_equal(f"the event of {address}", [r[k] for k in ("hook", "verdict", "errno", "reason")],
                     [hook, "refused", "EACCES", "network"])
        where = [r["object"]["port"], r["object"]["address"].removeprefix("::ffff:")]
        expect_equal(f"its port and address {r['object']}", where, [port, address.removeprefix("::ffff:")])
        expect_equal("packets", world.packets(wire), [])
    quic = ("python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
            f"print(s.sendto(b\"x\", (\"{world.PAGES}\", 443)))' 2>&1 | tail -n 1")
    must_do(quic, "free", "^1\n")
    since, wire = mark(), world.wire()
    must_do(quic, "client", "PermissionError")
    wait_for("its event", lambda: refusals(since, hook="sendmsg4"))
    expect_equal("packets", world.packets(wire), [])


@case("egress")
def port_not_listed():
    """A port that no entry of the name has."""
    stage()
    since = mark()
    page = curl(f"https://{API}:8443/hello")
    wire = world.wire()
    done = do(page)
    expect(done.status in CUT, done.text)
    expect_equal("its event", told(since, what="connect", destination=API, port=8443)["outcome"], "port not listed")
    expect_equal("packets", world.packets(wire), [])
    must_do(page, "free", "^hello")


@case("egress")
def tls_alone():
    """tls: true: neither plain HTTP nor TLS for another name."""
    stage()
    plain = curl(f"http://{API}:443/hello", "-o /dev/null -w '%{http_code}'")
    other = curl(f"https://{GIT}/hello", f"--connect-to {GIT}:443:{API}:443")
    for text, says, outcome in ((plain, "^400", "no TLS"), (other, "^hello", "another server name")):
        since = mark()
        wire = world.wire()
        done = do(text)
        expect(done.status in CUT, done.text)
        expect_equal("its event", told(since, what="connect", destination=API)["outcome"], outcome)
        expect_equal("packets", world.packets(wire), [])
        must_do(text, "free", says)


BAD = {"private": "bad address", "mixed": "bad address", "metadata": "bad address", "loopback": "bad address",
       "six": "bad address", "mapped": "bad address", "alias": "bad address", "loop": "not resolved", "here": "bad route", "gateway": "bad route"}


@case("egress", seconds=400)
def bad_addresses():
    """A name that stands for a private address, a cloud's metadata, the host or its network: nothing is dialled, and
    one such address among good ones is enough."""
    stage()
    for address in (world.PRIVATE, world.METADATA, world.GATEWAY):
        must_do(curl(f"http://{address}/hello"), "free", "^hello")
    for label in ("private", "mixed", "six"):
        must_do(curl(f"http://{label}.bad.example.org/hello"), "free", "^hello")
    wire = world.wire()
    for label, outcome in BAD.items():
        name, since = f"{label}.bad.example.org", mark()
        done = do(curl(f"http://{name}/hello"))
        expect(done.status in CUT, f"{name}: {done.text}")
        r = told(since, what="connect", destination=name)
        expect_equal(f"{name}: {r['message']}", r["outcome"], outcome)
    expect_equal("packets", world.packets(wire, "tcp"), [])


@case("egress-more")
def rebinding():
    """A name that is public when it is asked of first and private then: each connection is checked."""
    stage()
    world.rename("example.org", ORG, "rebind.bad", [world.PAGES], ttl=0)
    page = curl("http://rebind.bad.example.org/hello")
    must_do(page, "client", "^hello")
    world.rename("example.org", ORG, "rebind.bad", [world.PRIVATE], ttl=0)
    must_do(page, "free", "^hello")
    since, wire = mark(), world.wire()
    done = do(page)
    expect(done.status in CUT, done.text)
    r = told(since, what="connect", destination="rebind.bad.example.org")
    expect_equal("its event", r["outcome"], "bad address")
    expect_equal("packets", world.packets(wire, "tcp"), [])
    world.rename("example.org", ORG, "rebind.bad", [world.PAGES], ttl=0)
    must_do(page, "client", "^hello")


# --- bounds ---


@case("egress")
def upload():
    """What may be sent is sent, what is over it is cut, and then nobody connects there: not by another relay, nor another
    agent, but by another grant."""
    stage()
    put = "head -c {} /dev/zero | " + curl("http://upload.example.com/upload", "-T - -H Transfer-Encoding: -H Expect:",
                                          "-H 'Content-Length: {}'")
    small, large = put.format(1000, 1000), put.format(300000, 300000)
    must_do(large, "free", "^300000")
    must_do(small, "client", "^1000")
    since = mark()
    done = do(large)
    expect(done.status in CUT, done.text)
    r = told(since, what="flow", destination="upload.example.com", outcome="over its upload allowance")
    expect(r["up"] <= 65536, str(r))
    done = do(small)
    expect(done.status in CUT, done.text)
    expect_equal("the next one", told(since, what="connect", destination="upload.example.com")["outcome"],
                 "over its upload allowance")
    address = address_of(GIT)
    for end in (lambda: os.kill(relay()["pid"], signal.SIGKILL), lambda: os.kill(main_pid(AGENT), signal.SIGKILL)):
        end()
        works_again(address)
        since = mark()
        done = do(small)
        expect(done.status in CUT, done.text)
        expect_equal("the next one", told(since, what="connect", destination="upload.example.com")["outcome"],
                     "over its upload allowance")
    grant()
    must_do(small, "client", "^1000")


# --- grants end ---


@case("egress")
def revoked():
    """What runs is cut at once, and no name is told any more."""
    stage()
    with downloading() as ended:
        since, began = mark(), time.monotonic()
        expect_text("revoke", revoke(), "egress is revoked")
        is_cut(ended, began, 10)
    r = told(since, what="flow", destination=GIT)
    expect_equal(f"its record {r}", [r["outcome"], r["down"] > 0], ["cut", True])
    expect_equal("curl", do(curl(f"http://{GIT}/hello")).status, 6)
    expect_text("revoke again", revoke(), "was not granted")
    grant()
    must_do(curl(f"http://{GIT}/hello"), "client", "^hello")


@case("egress-more")
def granted_for_a_time():
    """--for: until then and no longer; what runs is cut."""
    stage()
    since = mark()
    expect_text("grant", grant("--for", "15s"), "granted for 15s")
    granted = time.monotonic()
    expect_text("status", must("bulkhead", "status").out, r"granted for another \d+s by uid 0")
    with downloading() as ended:
        is_cut(ended, granted, 40)
        expect(time.monotonic() - granted > 10, "it was cut before its time")
    expect_equal("its record", told(since, what="flow", destination=GIT)["outcome"], "cut")
    expect_text("the grant's end", told(since, what="grant")["message"], "expired")
    expect_equal("curl", do(curl(f"http://{GIT}/hello")).status, 6)
    expect_equal("the grant", compartment(name="client")["egress"]["grant"], None)


@case("egress")
def granted_in_part():
    """--only: those names and no others; the one who runs by another is cut by it."""
    stage()
    with downloading() as ended:
        since, began = mark(), time.monotonic()
        grant("--only", API, "--only", "a.cdn.example.org")
        is_cut(ended, began, 10)
    must_do(curl(f"https://{API}/hello"), "client", "^hello")
    must_do(curl("http://a.cdn.example.org/hello"), "client", "^hello")
    expect_equal("git", do(curl(f"http://{GIT}/hello")).status, 6)
    expect_equal("its event", told(since, what="query", destination=GIT, type="A")["outcome"], "ungranted")
    expect_equal("another of the wildcard's", do(curl("http://alias.cdn.example.org/hello")).status, 6)
    expect_text("status", must("bulkhead", "status").out, rf"granted to {API}, a.cdn.example.org by uid 0")


@case("egress-more")
def reloaded():
    """A policy that lists a name no more: its connection is cut, the rest and the grant go on."""
    stage()
    path = f"{POLICIES}/client.yaml"
    without = "".join(line for line in CLIENT.splitlines(keepends=True) if GIT not in line)
    try:
        with downloading() as ended:
            since = mark()
            write(path, without)
            must("bulkhead", "reload", "client")
            is_cut(ended, time.monotonic(), 10)
        expect_equal("its record", told(since, what="flow", destination=GIT)["outcome"], "cut")
        expect_equal("git", do(curl(f"http://{GIT}/hello")).status, 6)
        expect_equal("its event", told(since, what="query", destination=GIT, type="A")["outcome"], "unlisted")
        must_do(curl(f"https://{API}/hello"), "client", "^hello")
    finally:
        write(path, CLIENT)
        must("bulkhead", "reload", "client")
    must_do(curl(f"http://{GIT}/hello"), "client", "^hello")


# --- who serves it dies ---


def relay():
    return status()["agent"]["egress"]


def was_refused(since):
    """What members tried meanwhile, in the kernel."""
    reasons = {r["reason"] for r in refusals(since)}
    expect(reasons and reasons <= {"network", "unsure-outlet"}, f"reasons: {reasons}")


def works_again(address):
    """Without an operator, and the name has the address that it had."""
    wait_for("it works again", lambda: do(curl(f"http://{GIT}/hello")).status == 0, 90)
    expect_equal("its address", address_of(GIT), address)
    expect(compartment(name="client")["egress"]["grant"], "the grant is gone")


@case("egress", seconds=400)
def agent_restarts():
    """While the agent is away nothing is reached; then all is as before."""
    stage()
    address, since = address_of(GIT), mark()
    with downloading() as ended:
        began = time.monotonic()
        must("systemctl", "stop", AGENT)
        is_cut(ended, began, 20)
    wire = world.wire()
    done = do(curl(f"http://{GIT}/hello"))
    expect(done.status in (6, 7), done.text)
    must_do(connects(address, 80), "client", "PermissionError")
    expect_equal("packets", world.packets(wire), [])
    agent_start()
    works_again(address)
    expect_equal("the record of what was cut", told(since, what="flow", destination=GIT)["outcome"], "cut")
    was_refused(since)


@case("egress-more", seconds=400)
def agent_killed():
    """kill -9 of the agent: its relay ends with it, and the next agent serves again."""
    stage()
    address, since = address_of(GIT), mark()
    before = relay()["pid"]
    with downloading() as ended:
        began = time.monotonic()
        os.kill(main_pid(AGENT), signal.SIGKILL)
        is_cut(ended, began, 20)
    do(curl(f"http://{GIT}/hello"))
    wait_for("the agent is back", lambda: run("bulkhead", "status").status == 0)
    works_again(address)
    expect(not os.path.exists(f"/proc/{before}"), "the earlier relay lives")
    was_refused(since)


@case("egress", seconds=400)
def relay_killed():
    """kill -9 of the relay: what ran is cut, another comes, the grant is kept."""
    stage()
    address, since, before = address_of(GIT), mark(), relay()
    with downloading() as ended:
        began = time.monotonic()
        os.kill(before["pid"], signal.SIGKILL)
        is_cut(ended, began, 20)
    works_again(address)
    r = wait_for("its record", lambda: records(since, kind="egress", what="relay"))[0]
    expect_text("its record", r["message"], "relay ended: .*signal 9|relay ended: .*killed")
    after = relay()
    expect_equal("the next one", [after["deaths"], after["pid"] != before["pid"]], [before["deaths"] + 1, True])
    expect_text("status", must("bulkhead", "status").out, r"the relay of egress runs, process \d+; it ended \d+ time")


@case("egress-more", seconds=400)
def relay_stopped():
    """SIGSTOP of the relay: it does not answer, is killed, and another comes."""
    stage()
    address, before = address_of(GIT), relay()
    with downloading() as ended:
        os.kill(before["pid"], signal.SIGSTOP)
        began = time.monotonic()
        is_cut(ended, began, 60)
    works_again(address)
    after = relay()
    expect_equal("the next one", [after["deaths"], after["pid"] != before["pid"]], [before["deaths"] + 1, True])


@case("egress")
def relay_is_lowered():
    """Who talks with strangers is no root, has no capability, and members may not signal or trace it."""
    stage()
    text = read(f"/proc/{relay()['pid']}/status")
    expect_text("its user", text, r"(?m)^Uid:\t65534\t65534\t65534\t65534$")
    expect_text("its capabilities", text, r"(?m)^CapEff:\t0+$")
    expect_text("no new privileges", text, r"(?m)^NoNewPrivs:\t1$")
    expect_text("its filter", text, r"(?m)^Seccomp:\t2$")


# --- elsewhere ---


@contextlib.contextmanager
def served(name, policy, extra=""):
    """A client of that name, under this policy."""
    cases_tools.SERVICE, kept = cases_tools.SERVICE.replace("ExecStart=", extra + "ExecStart="), cases_tools.SERVICE
    cases_tools.POLICY_TEXTS[name] = policy.replace("name: client", f"name: {name}")
    try:
        cases_tools.begin(name)
        yield
    finally:
        cases_tools.SERVICE = kept
        run("systemctl", "stop", f"tools-{name}.service")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{RUN}/{name}")


@case("egress")
def network_namespace():
    """In one that has a loopback device and no way out, as containers do, the same names are reached."""
    stage()
    must("ip", "netns", "add", "inner")
    must("ip", "-n", "inner", "link", "set", "lo", "up")
    page = curl(f"https://{API}/hello")
    with served("inner", CLIENT, "NetworkNamespacePath=/run/netns/inner\n"):
        alone = run("ip", "netns", "exec", "inner", "curl", "-sS", f"http://{world.PAGES}/hello")
        expect_equal(f"its way out ({alone.text})", alone.status, 7)
        expect_equal("before its own grant", do(page, "inner").status, 6)
        must("bulkhead", "grant", "inner", "egress")
        must_do(page, "inner", "^hello")
        expect_equal("unlisted", ask(world.NAMES, "unlisted.example.com", "A", "inner")[1:], [3, []])
        since = mark()
        must_do(connects(world.PAGES, 80), "inner", "PermissionError")
        wait_for("its event", lambda: refusals(since, "inner", hook="connect4"))
        nets = {o["netns"]: o["state"] for o in compartment(name="inner")["egress"]["outlets"]}
        expect_equal("outlets", [*nets.values()], ["open"])
        expect(os.stat("/run/netns/inner").st_ino in nets, str(nets))


LOOPBACK = CLIENT.replace("  egress:\n", "  loopback: own\n  egress:\n")


@case("egress")
def loopback_own():
    """A server of a member's is reached by members and from outside; one of the host's is not reached by members."""
    stage()
    page = "curl -sS --max-time 30 http://127.0.0.1:{}/do.sh -o /dev/null -w '%{{http_code}}'"
    serve = "cd .. && (python3 -m http.server --bind 127.0.0.1 {} >/dev/null 2>&1 & echo $! >server.{}; disown)"
    with served("loop", LOOPBACK):
        must("bulkhead", "grant", "loop", "egress")
        must_do(serve.format(8098, 8098), "free")
        must_do(serve.format(8099, 8099), "loop")
        for port, where in ((8098, "free"), (8099, "free"), (8099, "loop")):
            wait_for(f"{port} is reached by {where}", lambda p=port, w=where: do(page.format(p), w).out == "200")
        since = mark()
        done = do(page.format(8098), "loop")
        expect_equal(f"the host's ({done.err})", done.status, 7)
        r = wait_for("its event", lambda: refusals(since, "loop", hook="connect4"))[0]
        expect_equal("its event", [r["reason"], r["object"]["port"]], ["network", 8098])
        # Who has egress alone binds nothing, and does not reach the other's.
        expect_equal("another compartment", do(page.format(8099)).status, 7)
        must_do(curl(f"https://{API}/hello"), "loop", "^hello")
    run("kill", read(f"{WORKSPACE}/server.8098").strip())


# --- as they are told to do it ---


def readme():
    """The blocks of README.md's section, as they stand there."""
    section = read(f"{LAB}/../README.md").split("\n## Egress\n")[1].split("\n## ")[0]
    blocks = re.findall(r"(?:^    .*\n|^\n(?=    ))+", section, re.MULTILINE)
    return [re.sub("(?m)^    ", "", b).strip("\n") + "\n" for b in blocks]


FETCHER = f"""\
[Unit]
Description=Fetches a page again and again
[Service]
User={USER}
Environment=CURL_CA_BUNDLE={world.CA}
ExecStart=/usr/bin/bash /srv/fetcher/loop
"""
LOOP = f"""\
(curl -sS -o /srv/fetcher/slow http://{GIT}/slow; echo $? >/srv/fetcher/slow.end) &
while :; do
	curl -sS -o /srv/fetcher/page https://{API}/hello
	echo $? >/srv/fetcher/status
	sleep 0.5
done
"""


def fetches(status_):
    def look():
        with contextlib.suppress(FileNotFoundError):
            os.unlink("/srv/fetcher/status")
        return wait_for("it tries", lambda: read("/srv/fetcher/status")).strip() == str(status_)

    wait_for(f"curl says {status_}", look)


@case("egress-more", seconds=400)
def as_readme_says():
    """The commands of README.md's section, one after another: for a unit, whose next start is granted nothing."""
    stage()
    config, policy, commands = readme()
    expect_equal("its configuration", config.splitlines()[-1], read(CONFIG).splitlines()[0])
    write("/srv/fetcher/loop", LOOP)
    must("chown", "-R", f"{USER}:", "/srv/fetcher")
    write(f"{UNITS}/fetcher.service", FETCHER)
    write("/srv/fetcher.yaml", policy)
    must("systemctl", "start", "fetcher.service")
    fetches(0)
    wait_for("something comes", lambda: os.path.exists("/srv/fetcher/slow"))
    expect(not read("/srv/fetcher/slow.end"), "the download ended by itself")
    after = {"attach": 6, "grant": 0, "--only": 6, "revoke": 6, "restart fetcher": 6, "--for": 0}
    try:
        for line in commands.splitlines():
            command = line.split("  #")[0].rstrip()
            since = mark()
            must("/bin/sh", "-c", command, cwd="/srv")
            words = [w for w in after if w in command]
            if words:
                fetches(after[words[-1]])
            if "restart fetcher" in words:
                told(since, name="fetcher", what="query", outcome="ungranted")
                # Its way out was there before it ran: its first query came to the stub.
                led = [r for r in refusals(since, "fetcher") if r["hook"] in ("connect4", "sendmsg4")]
                expect_equal("refused by the kernel", led, [])
            if "attach" in words:
                wait_for("what ran is cut", lambda: read("/srv/fetcher/slow.end"))
    finally:
        run("systemctl", "stop", "fetcher.service")
        run("bulkhead", "detach", "--unit", "fetcher.service")


AUDITED = CLIENT.replace("mode: enforce", "mode: audit")


def granting_unit():
    """The example of bulkhead(8), grant, as people copy it."""
    section = read(f"{LAB}/../bulkhead.8").partition("\n.B grant \\fR")[2].partition("\n.TP\n")[0]
    return section.partition("\n.EX\n")[2].partition("\n.EE\n")[0].replace("\\-", "-") + "\n"


@case("egress-more", seconds=400)
def each_start_is_granted():
    """By a unit of its own, as bulkhead(8) has it: after a restart, and after a crash."""
    stage()
    write("/srv/fetcher/loop", LOOP)
    must("chown", "-R", f"{USER}:", "/srv/fetcher")
    write(f"{UNITS}/fetcher.service", FETCHER + "Restart=always\nRestartSec=1\n")
    write(f"{UNITS}/fetcher-egress.service", granting_unit())
    write("/srv/fetcher.yaml", readme()[1])
    daemon_reload()
    must("systemctl", "restart", "fetcher.service")
    try:
        attach("/srv/fetcher.yaml", "--unit", "fetcher.service")
        must("systemctl", "restart", "fetcher.service")
        fetches(6)
        must("systemctl", "enable", "fetcher-egress.service")
        must("systemctl", "restart", "fetcher.service")
        fetches(0)
        before = main_pid("fetcher.service")
        os.kill(before, signal.SIGKILL)
        wait_for("it is started again", lambda: main_pid("fetcher.service") not in (0, before))
        fetches(0)
        must("systemctl", "disable", "--now", "fetcher-egress.service")
        must("systemctl", "restart", "fetcher.service")
        fetches(6)
    finally:
        run("systemctl", "disable", "--now", "fetcher-egress.service")
        run("systemctl", "stop", "fetcher.service")
        run("bulkhead", "detach", "--unit", "fetcher.service")


@case("egress-more", seconds=400)
def starts_while_relay_is_away():
    """A unit that starts in the pause after the relay's death waits for the next relay: its first query comes to the stub."""
    stage()
    write("/srv/fetcher/loop", LOOP)
    must("chown", "-R", f"{USER}:", "/srv/fetcher")
    write(f"{UNITS}/fetcher.service", FETCHER)
    write("/srv/fetcher.yaml", readme()[1])
    must("systemctl", "restart", "fetcher.service")
    try:
        attach("/srv/fetcher.yaml", "--unit", "fetcher.service")
        # The pause is doubled with each.
        for _ in range(6):
            wait_for("the relay runs", lambda: relay()["pid"], 60)
            os.kill(relay()["pid"], signal.SIGKILL)
            wait_for("it is away", lambda: not relay()["pid"])
        since = mark()
        must("systemctl", "restart", "fetcher.service")
        expect(compartment(name="fetcher")["egress"]["open"], str(compartment(name="fetcher")["egress"]))
        told(since, name="fetcher", what="query", outcome="ungranted")
        led = [r for r in refusals(since, "fetcher") if r["hook"] in ("connect4", "sendmsg4")]
        expect_equal("refused by the kernel", led, [])
    finally:
        run("systemctl", "stop", "fetcher.service")
        run("bulkhead", "detach", "--unit", "fetcher.service")


@case("egress")
def audited():
    """Under mode: audit nothing is redirected or refused, and every destination is told."""
    stage()
    with served("audited", AUDITED):
        since = mark()
        must_do(curl(f"https://{API}/hello"), "audited", "^hello")
        must_do(curl(f"http://{world.PAGES}/hello"), "audited", "^hello")
        for port, hook in ((53, "connect4"), (443, "connect4"), (80, "connect4")):
            r = wait_for(f"the event of port {port}", lambda p=port: [
                r for r in refusals(since, "audited") if r["object"].get("port") == p])[0]
            expect_equal(f"port {port}", [r["verdict"], r["hook"]], ["audit", hook])


# --- at the end ---


@case("egress")
def uplink():
    """Of all that was tried above the wire has the names that were granted, and neither one that was not nor any
    address that stands for a name."""
    stage()
    for labels in (("api", "example"), ("git", "example"), ("a", "cdn"), ("alias", "cdn"), ("private", "bad")):
        expect(world.has_name(0, *labels), f"{'.'.join(labels)} did not pass")
    for labels in (("x", "api"), ("evilapi", "example"), ("6f6e6365207570" * 4,), ("6f6e6365", "cdn")):
        expect(not world.has_name(0, *labels), f"{'.'.join(labels)} passed")
    expect_equal("synthetic addresses", world.packets(0, f"net {RANGE}"), [])
    expect(world.packets(0, "net 8.8.0.0/16"), "nothing passed")
