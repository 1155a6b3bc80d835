# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The filesystem MCP server of npm under policies/mcp-filesystem.yaml as it is shipped."""
import contextlib
import glob
import json
import os
import select
import subprocess
import time

from harness import (CGROUPS, agent_is_back, attach, case, event, expect, expect_equal, expect_text, mark, must,
                     records, write)

TOP = "/srv/mcp"
SERVER, WORKSPACE, HOME = f"{TOP}/server", f"{TOP}/ws", f"{TOP}/home"
POLICY = "/usr/share/bulkhead/policies/mcp-filesystem.yaml"
VARIABLES = ("--var", f"SERVER={SERVER}", "--var", f"WORKSPACE={WORKSPACE}", "--var", f"HOME={HOME}")
COMMAND = ("/usr/bin/node", f"{SERVER}/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js", WORKSPACE)
ENV, HOOK = f"{WORKSPACE}/.env", f"{WORKSPACE}/.git/hooks/post-merge"
NOTES, NEW = f"{WORKSPACE}/notes.txt", f"{WORKSPACE}/a/new.txt"
CGROUP = f"{CGROUPS}/mcp"
SECONDS = 100  # one answer may take


def failed(text):
    """What a tool says in such a case; some throw, and the answer is an error of the protocol's."""
    return {"content": [{"text": text}], "isError": True}


class Server:
    """Requests and answers, a line each."""

    def __init__(self, process):
        self.process, self.number, self.buffer = process, 0, b""

    def line(self):
        end = time.monotonic() + SECONDS
        while b"\n" not in self.buffer:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))
            got = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            expect(got, f"no answer: {self.buffer[-200:]!r}")
            self.buffer += got
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(line)

    def send(self, **message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, **params):
        self.number += 1
        self.send(id=self.number, method=method, params=params)
        while True:
            answer = self.line()
            if answer.get("id") == self.number:
                return answer["result"] if "result" in answer else failed(answer["error"]["message"])

    def hello(self):
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "t", "version": "1"})
        self.send(method="notifications/initialized")

    def call(self, tool, **arguments):
        """What it says, and whether it is an error."""
        result = self.ask("tools/call", name=tool, arguments=arguments)
        return "\n".join(part["text"] for part in result["content"]), bool(result.get("isError"))


@contextlib.contextmanager
def server(*argv):
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          env={**os.environ, "HOME": HOME}, cwd="/") as process:
        try:
            s = Server(process)
            s.hello()
            yield s
        finally:
            process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()


def prepare():
    must("rm", "-rf", WORKSPACE, HOME)
    for path in (ENV, NOTES, f"{WORKSPACE}/.git/config", f"{HOME}/.x"):
        write(path, "synthetic\n")
    os.makedirs(f"{WORKSPACE}/.git/hooks")
    if os.path.exists(SERVER):
        return
    found = glob.glob("/lab/*/node_modules/@modelcontextprotocol/server-filesystem")
    expect_equal("copies of the server that came with this boot", len(found), 1)
    os.makedirs(SERVER)
    os.rename(found[0].removesuffix("/@modelcontextprotocol/server-filesystem"), f"{SERVER}/node_modules")


def works(s):
    for tool, arguments, says in (
            ("list_directory", {"path": WORKSPACE}, r"\[FILE\] notes.txt"),
            ("read_text_file", {"path": NOTES}, "synthetic"),
            ("create_directory", {"path": f"{WORKSPACE}/a"}, "Successfully"),
            ("write_file", {"path": NEW, "content": "one\n"}, "Successfully"),
            ("edit_file", {"path": NEW, "edits": [{"oldText": "one", "newText": "two"}]}, r"\+two"),
            ("read_text_file", {"path": NEW}, "two"),
            ("move_file", {"source": NEW, "destination": f"{NEW}.bak"}, "Successfully"),
            ("search_files", {"path": WORKSPACE, "pattern": "**/*.bak"}, "new.txt.bak"),
            ("get_file_info", {"path": NOTES}, "size: 10")):
        text, failed = s.call(tool, **arguments)
        expect(not failed, f"{tool}: {text[-300:]}")
        expect_text(tool, text, says)


def forbidden(s):
    """[what it says, failed] of what the policy denies in the workspace."""
    return s.call("read_text_file", path=ENV), s.call("write_file", path=HOOK, content="id\n")


def is_confined(s, since):
    for (text, failed), path in zip(forbidden(s), (ENV, HOOK)):
        expect(failed, f"{path}: {text}")
        expect_text(f"its answer of {path}", text, "EACCES: permission denied")
        told = event(since, path, name="mcp-filesystem")
        expect_equal(f"the event of {path}", [told[k] for k in ("verdict", "errno", "reason")],
                     ["refused", "EACCES", "denied"])
    expect(not os.path.exists(HOOK), "the hook was written")
    others = [[r["hook"], r["object"]] for r in records(since, kind="violation", name="mcp-filesystem")
              if r["hook"] != "cgroup_attach_task" and r["object"].get("path") not in (ENV, HOOK)]
    expect_equal("other refusals", others, [])


@case("tools", seconds=400)
def mcp_filesystem():
    """The server lists, reads, writes, edits and moves in its workspace, and is refused .env and a hook of the
    repository, both of which it reads and writes outside: attached while it runs, and started inside."""
    agent_is_back()
    prepare()
    os.makedirs(CGROUP, exist_ok=True)
    with server("/bin/sh", "-c", f'echo 0 >{CGROUP}/cgroup.procs; exec "$@"', "sh", *COMMAND) as s:
        expect_equal("outside", [failed for _, failed in forbidden(s)], [False, False])
        os.unlink(HOOK)
        attach(POLICY, "--cgroup", CGROUP, *VARIABLES)
        since = mark()
        works(s)
        is_confined(s, since)
    must("bulkhead", "detach", "mcp-filesystem")
    since = mark()
    with server("bulkhead", "run", POLICY, *VARIABLES, "--", *COMMAND) as s:
        expect_text("started inside", s.call("read_text_file", path=NOTES)[0], "synthetic")
        is_confined(s, since)
