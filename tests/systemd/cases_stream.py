# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The control socket and its stream: a reader that stops, and who may ask what."""
import json
import signal
import subprocess
import time

from harness import (POLICIES, SECRET, as_user, case, compartment, confined, event, expect, expect_equal,
                     expect_text, mark, must, read, records, refused, wait_for)

VIOLATIONS = 5000
NOBODY, USER, READERS, ADMINS = 65534, 1000, "990", "991"


def parsed(path):
    """Every line but one that is still being written."""
    return [json.loads(line) for line in read(path).splitlines(keepends=True) if line.endswith("\n")]


@case("stream")
def stopped_reader():
    """A reader that is stopped for 5,000 violations delays neither verdicts nor answers; when it
    goes on, records and losses that it is told add up exactly."""
    output = "/tmp/follow"
    with confined("stream") as p, open(output, "w", encoding="utf-8") as f:
        reader = subprocess.Popen(["bulkhead", "events", "--follow", "--json"], stdout=f)
        try:
            # When it has subscribed is known by the number of its first record.
            wait_for("the reader's first record", lambda: p.read(SECRET) and parsed(output))
            first = parsed(output)[0]["seq"]
            reader.send_signal(signal.SIGSTOP)
            p.ask("spray", SECRET, VIOLATIONS, seconds=200)
            began = time.monotonic()
            tally = compartment(name="stream")["tally"]
            took = time.monotonic() - began
            expect(took < 5, f"status took {took:.1f} s beside a stopped reader")
            expect(tally["refused"] > VIOLATIONS, f"only {tally['refused']} counted")
            reader.send_signal(signal.SIGCONT)
            due = tally["refused"] - first + 1

            def told():
                lines = parsed(output)
                got = sum(r["kind"] == "violation" and r["name"] == "stream" for r in lines)
                return got, sum(r["count"] for r in lines if r["kind"] == "lost")

            wait_for(f"the reader's account of {due}", lambda: sum(told()) >= due)
            got, lost = told()
            print(f"# the stopped reader got {got} records and was told of {lost} lost")
            expect(lost > 0, "nothing was lost: the reader was not stopped long enough")
            expect_equal("records and losses told", got + lost, due)
            # The control: the agent's own file has them all.
            expect_equal("records in the file", len(records(0, name="stream", kind="violation")), tally["refused"])
        finally:
            reader.send_signal(signal.SIGCONT)
            reader.terminate()
            reader.wait(30)


@case("stream")
def every_line_is_json():
    """bulkhead events prints one JSON object a line, the same as the file's without scratch ones."""
    with confined("lines") as p:
        since = mark()
        p.is_confined()
        event(since, SECRET)
        shown = [json.loads(line) for line in must("bulkhead", "events", "--json").out.splitlines()]
        kept = [r for r in records(0) if r["kind"] != "violation" or r["name"] is not None]
        expect_equal("records shown", len(shown), len(kept))
        expect_equal("kinds", {r["kind"] for r in shown} - {"violation", "control", "lost"}, set())
        asked = [r for r in shown if r["kind"] == "control" and r["request"] == "attach"]
        expect_equal("the attach's record", (asked[-1]["target"], asked[-1]["uid"], asked[-1]["outcome"]),
                     (p.unit, 0, "ok"))
        lines = must("bulkhead", "events").out
        expect_text("for people", lines, rf"read {SECRET} refused \(EACCES\)")


@case("access")
def who_may_ask():
    """nobody: nothing; group bulkhead: reads; group bulkhead-admin: changes. Each refusal a record."""
    with confined("access") as p:
        policy = f"{POLICIES}/access.yaml"
        detach = ("bulkhead", "detach", "--unit", p.unit)
        since = mark()
        refused(*as_user(NOBODY, "", "bulkhead", "status"), says="only root, group bulkhead-admin")
        refused(*as_user(USER, "", *detach), says="only root, group bulkhead-admin")
        reader = must(*as_user(USER, READERS, "bulkhead", "status", "--json"))
        expect_equal("what a reader sees", json.loads(reader.out)["compartments"][0]["name"], "access")
        expect_text("doctor for a reader", must(*as_user(USER, READERS, "bulkhead", "doctor")).out, "proved")
        says = "for root and members of group bulkhead-admin"
        refused(*as_user(USER, READERS, "bulkhead", "reload", "access"), says=says)
        refused(*as_user(USER, READERS, *detach), says=says)
        p.is_confined()
        outcomes = [r["outcome"] for r in records(since, kind="control", uid=USER)]
        expect_equal("records of what a reader asked for", outcomes, ["refused"] * 2)
        must(*as_user(USER, ADMINS, "bulkhead", "reload", "access"))
        must(*as_user(USER, ADMINS, *detach))
        p.is_free()
        must(*as_user(USER, ADMINS, "bulkhead", "attach", policy, "--unit", p.unit))
        p.is_confined()


@case("access")
def not_from_inside():
    """A confined root whose policy even lets it reach the control socket changes nothing with it."""
    with confined("inside", unix="unix: {connect: [/run/bulkhead/control.sock]}\n") as p:
        asked = p.ask("ask-agent", '{"request":"status"}')
        expect_equal("status from inside", asked["answer"]["ok"], True)
        for request in ('{"request":"detach","unit":"inside.service"}', '{"request":"reload","all":true}'):
            answer = p.ask("ask-agent", request)["answer"]
            expect_equal("a change from inside", answer["ok"], False)
            expect_text("its refusal", answer["error"], "not from inside a compartment")
        p.is_confined()
    with confined("outside") as p:
        expect_equal("the control socket without such a rule",
                     p.ask("ask-agent", '{"request":"status"}')["error"], "EACCES")
