# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Three boots of one disk: a unit is bound; it starts inside; without an agent it does not start."""
from harness import (AGENT, Provider, agent_is_back, attach, case, compartment, expect, expect_equal, must,
                     unit_is, wait_for, write_policy)

EACCES = 13


@case("boot", boot=1)
def bind_for_reboot():
    """The unit is free, then attached; both it and the agent are enabled."""
    agent_is_back()
    p = Provider("booted")
    p.write()
    p.start()
    p.is_free()
    attach(write_policy("booted"), "--unit", p.unit)
    p.is_confined()
    expect_equal("first opens before the reboot", [e for _, e in p.firsts()], [0])
    must("systemctl", "enable", p.unit, AGENT)


@case("boot", boot=2)
def starts_inside_after_reboot():
    """At the next boot the unit has started, and its first open was refused."""
    p = Provider("booted")
    wait_for("the unit's start", lambda: unit_is(p.unit, "active"))
    p.wait()
    expect(unit_is(AGENT, "active"), "the agent is not active")
    expect_equal("first opens", [e for _, e in p.firsts()], [0, EACCES])
    p.is_confined()
    expect_equal("the compartment's state", compartment(unit=p.unit)["state"], "enforced")
    must("systemctl", "mask", AGENT)


@case("boot", boot=3)
def no_agent_no_start():
    """At a boot without an agent the unit's program is not run; with it again, it is, inside."""
    p = Provider("booted")
    expect(not unit_is(AGENT, "active"), "the agent is active")
    wait_for("the unit's failed start", lambda: unit_is(p.unit, "failed"))
    expect_equal("starts of its program", len(p.firsts()), 2)
    must("systemctl", "unmask", AGENT)
    must("systemctl", "reset-failed", p.unit)
    p.start()
    expect_equal("first opens", [e for _, e in p.firsts()], [0, EACCES, EACCES])
    p.is_confined()
