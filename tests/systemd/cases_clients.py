# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""More of what reaches out by name, as it is: ssh, a program in Go, an MCP server and a provider's command of npm, a
container. Each works outside; inside it reaches what is listed and granted, and of another name the wire has nothing."""
import contextlib
import os
import subprocess

import cases_containers
import cases_mcp
import cases_tools
import world
from cases_egress import (AGENT_SOCK, API, DESTINATIONS, GIT, connects, curl, do, must_do, refusals, same, served, stage,
                          told)
from cases_tools import HOME, MODULES, USER, WORKSPACE
from harness import (POLICIES, attach, case, compartment, expect, expect_equal, expect_text, mark,
                     must, read, wait_for, write)

UNLISTED = "unlisted.example.com"


@contextlib.contextmanager
def silence():
    """Nobody is asked or connected to meanwhile; what ends of an earlier connection still passes."""
    wire = world.wire()
    yield
    expect_equal("packets", world.packets(wire, "tcp[tcpflags] & (tcp-syn|tcp-ack) == tcp-syn or udp or ip6"), [])


# --- git over ssh ---


@contextlib.contextmanager
def ssh_agent():
    """The user's, outside, with the key: nobody inside reads it."""
    user = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups")
    with subprocess.Popen((*user, "ssh-agent", "-D", "-a", AGENT_SOCK), stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL) as process:
        try:
            wait_for("the agent of ssh", lambda: os.path.exists(AGENT_SOCK))
            must("ssh-add", "-q", f"{world.TOP}/user_key", env={**os.environ, "SSH_AUTH_SOCK": AGENT_SOCK})
            yield
        finally:
            process.terminate()


def clone(host):
    return (f"export SSH_AUTH_SOCK={AGENT_SOCK}; rm -rf copy; git clone -q ssh://git@{host}{world.TOP}/www/repo.git copy && "
            "git -C copy log --format=%s && cat copy/f")


@case("egress", seconds=400)
def git_over_ssh():
    """A clone by ssh, with a key that an agent holds; not from a host that is not listed, and not by a port that is not."""
    stage()
    world.serve_ssh("git", GIT, API, UNLISTED)
    with ssh_agent():
        since = mark()
        same(clone(GIT), "^from the world\nhello")
        flow = told(since, what="flow", destination=GIT, port=22)
        expect(flow["outcome"] == "ended" and flow["up"] and flow["down"], str(flow))
        for host, what, outcome in ((UNLISTED, "query", "unlisted"), (API, "connect", "port not listed")):
            must_do(connects(host, 22), "free", "^0\n")
            since = mark()
            with silence():
                expect_equal(f"ssh to {host}", do(clone(host)).status, 128)
            told(since, what=what, destination=host, outcome=outcome)


# --- Go ---


@case("egress")
def go_asks():
    """A program in Go, which asks name servers by itself: told to, and as it likes."""
    stage()
    for options in ("", "GODEBUG=netdns=go "):
        ask = options + "gron https://{}/repos/o/r/issues/1"
        same(ask.format(API), "json.title = .hello from the world")
        must_do(ask.format(UNLISTED), "free", "hello from the world")
        since = mark()
        with silence():
            expect(do(ask.format(UNLISTED)).status, "an unlisted name was reached")
        told(since, what="query", destination=UNLISTED, outcome="unlisted")


# --- an MCP server ---


GITHUB = f"{MODULES}/@modelcontextprotocol/server-github"
MCP = """\
version: 1
name: mcp
include: [base/loader, base/libc, base/tls, base/resolver, base/dev, base/proc, base/node]
mode: enforce
existing: {default: refuse, keep: [stdio]}
proc: self
exec:
  - {on: [/usr/bin/node], jit: true}
network:
  egress:
    - {to: "api.github.com:443", discloses: "what its tools are asked to write", max-upload: 1MiB, tls: true}
"""


def issue(server, number):
    return server.call("get_issue", owner="o", repo="r", issue_number=number)


@case("egress-more", seconds=400)
def mcp_server():
    """GitHub's MCP server of npm: with a grant its tool's call is answered; where that is a redirection to another
    name, it is not."""
    stage()
    cases_tools.installed("@modelcontextprotocol/server-github")
    write(f"{POLICIES}/mcp.yaml", MCP)
    os.environ["NODE_EXTRA_CA_CERTS"] = world.CA
    command = ("/usr/bin/node", f"{GITHUB}/dist/index.js")
    with cases_mcp.server(*command) as s:
        expect_text("free", issue(s, 1)[0], "hello from the world")
        expect_text("free, led on", issue(s, 2)[0], "hello from the world")
    with cases_mcp.server("bulkhead", "run", f"{POLICIES}/mcp.yaml", "--", *command) as s:
        with silence():
            expect_text("before a grant", issue(s, 1)[0], "fetch failed")
        must("bulkhead", "grant", "mcp", "egress", "--for", "10m")
        since, wire = mark(), world.wire()
        expect_text("granted", issue(s, 1)[0], "hello from the world")
        expect(world.has_name(wire, "api", "github"), "the record of the wire has nothing of what is granted")
        told(since, name="mcp", what="flow", destination="api.github.com", port=443)
        expect_text("led on", issue(s, 2)[0], "fetch failed")
        told(since, name="mcp", what="query", destination=UNLISTED, outcome="unlisted")
        expect(not world.has_name(wire, "unlisted", "example"), "the other name passed")


# --- a provider's command ---


def codex_policy():
    """As it is shipped, with what its comments say to write."""
    text = read("/usr/share/bulkhead/policies/codex.yaml")
    lines = [line.removeprefix("#   ").removeprefix("# ") for line in text.splitlines()]
    first = lines.index("network:")
    network = "\n".join(lines[first:first + 4]) + "\n"
    expect_text("what its comments list", network, r'(?m)^    - .to: "api.openai.com:443", .*tls: true}$')
    for old, new in (("mode: audit", "mode: enforce"), ("network: none", network.rstrip()), ("name: codex", "name: talker")):
        expect_equal(f"lines {old}", text.count(f"\n{old}\n"), 1)
        text = text.replace(f"\n{old}\n", f"\n{new}\n")
    for name, path in (("WORKSPACE", WORKSPACE), ("HOME", HOME), ("TMPDIR", cases_tools.TMPDIR)):
        text = text.replace(f"  - {name}=/srv/codex/", f"  - {name}={path} # ")
    return text


CODEX_CONFIG = """\
model = "m"
model_provider = "world"
[model_providers.world]
name = "world"
base_url = "https://api.openai.com/v1"
wire_api = "responses"
env_key = "CODEX_API_KEY"
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
"""
CODEX = (f"export CODEX_API_KEY=synthetic; timeout 60 node {MODULES}/@openai/codex/bin/codex.js exec --skip-git-repo-check "
         "{} 'say something' </dev/null")
ELSEWHERE = f"-c 'model_providers.world.base_url=\"https://{UNLISTED}/v1\"'"


@case("codex", seconds=600)
def codex_asks_its_model():
    """codex exec, under the policy that is shipped for it: its model answers by the name that the policy lists, and by
    no other."""
    stage()
    cases_tools.installed("@openai/codex")
    for directory in (f"{HOME}/.codex", f"{WORKSPACE}/.codex", f"{WORKSPACE}/.git"):
        os.makedirs(directory, exist_ok=True)
    write(f"{HOME}/.codex/config.toml", CODEX_CONFIG)
    must("chown", "-R", f"{USER}:", HOME, WORKSPACE)
    with served("talker", codex_policy()):
        must_do(CODEX.format(""), "free", f"^{world.ANSWER}$")
        must("bulkhead", "grant", "talker", "egress")
        since, wire = mark(), world.wire()
        must_do(CODEX.format(""), "talker", f"^{world.ANSWER}$")
        flow = told(since, name="talker", what="flow", destination="api.openai.com", port=443)
        expect(flow["address"] == world.PAGES and flow["up"] and flow["down"], str(flow))
        expect(world.has_name(wire, "api", "openai"), "the record of the wire has nothing of its model")
        must_do(curl(f"https://{UNLISTED}/hello"), "free", "^hello")
        since = mark()
        with silence():
            expect(do(CODEX.format(ELSEWHERE), "talker").status, "another name was reached")
        told(since, name="talker", what="query", destination=UNLISTED, outcome="unlisted")


# --- a container ---


class Box(cases_containers.Box):
    """A container as they are: its own network namespace, where there is a loopback device and no more."""

    def policy_text(self):
        text = super().policy_text().replace("base/dev", "base/tls, base/resolver, base/dev").replace("network: none\n", DESTINATIONS)
        return text.replace('"/usr/bin/python3*"', '"/usr/bin/python3*", /usr/bin/curl')

    def config(self):
        made = super().config()
        made["linux"]["namespaces"].append({"type": "network"})
        return made

    def start(self):
        write(f"{self.directory}/rootfs/etc/resolv.conf", world.RESOLV_CONF)
        super().start()


def contained(runtime):
    stage()
    page = ("/usr/bin/curl", "-sS", "--max-time", "60", "--cacert", world.CA)
    with cases_containers.box(runtime, Box) as b:
        alone = b.exec(*page, f"https://{world.PAGES}/hello")
        expect_equal(f"its way out ({alone.text})", alone.status, 7)
        attach(b.policy, "--cgroup", b.cgroup)

        def outlets():
            return [o["state"] for o in compartment(name=b.name)["egress"]["outlets"]]

        wait_for("its outlet", lambda: outlets() == ["open"])
        with silence():
            expect_equal("before a grant", b.enter(*page, f"https://{API}/hello").status, 6)
        must("bulkhead", "grant", b.name, "egress")
        since = mark()
        done = b.enter(*page, f"https://{API}/hello")
        expect_equal(f"a page ({done.err})", done.out, world.HELLO)
        told(since, name=b.name, what="flow", destination=API, port=443)
        with silence():
            done = b.enter(*page, f"https://{UNLISTED}/hello")
            expect_equal(f"unlisted ({done.err})", done.status, 6)
            told(since, name=b.name, what="query", destination=UNLISTED, outcome="unlisted")
            expect_equal("an address", b.enter(*page, f"https://{world.PAGES}/hello").status, 7)
            wait_for("its event", lambda: refusals(since, b.name, hook="connect4", reason="network"))
    must_do(curl(f"https://{UNLISTED}/hello"), "free", "^hello")


@case("egress")
def container_of_crun():
    """A container of crun's, which has no way out: by name it has."""
    contained("crun")


@case("egress-more")
def container_of_runc():
    """The same of runc's."""
    contained("runc")
