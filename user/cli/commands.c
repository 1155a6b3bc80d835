// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The tables of commands and options. */
#include <stddef.h>
#include <stdint.h>
#include "cli.h"

#define AT(field) offsetof(struct arguments, field)

static const struct option_row opt_cgroup = {"cgroup", "PATH", "the cgroup (v2 directory)",
					     OPTION_TEXT, AT(cgroup)};
static const struct option_row opt_unit = {"unit", "NAME", "the systemd unit, its next starts too",
					   OPTION_TEXT, AT(unit)};
static const struct option_row opt_pid = {
	"pid", "PID", "this process and its descendants, in a scope of their own", OPTION_TEXT,
	AT(pid)};
static const struct option_row opt_var = {"var", "NAME=VALUE", "a variable of the policy",
					  OPTION_LIST, AT(vars)};
static const struct option_row opt_all = {"all", NULL, "every compartment", OPTION_FLAG, AT(all)};
static const struct option_row opt_json = {"json", NULL, "for programs", OPTION_FLAG, AT(json)};
static const struct option_row opt_follow = {"follow", NULL, "what happens from now on",
					     OPTION_FLAG, AT(follow)};
static const struct option_row opt_scratch = {
	"scratch", NULL, "also what the proofs of hooks provoked", OPTION_FLAG, AT(scratch)};
static const struct option_row opt_release = {
	"release", NULL, "detach what is attached, instead of refusing", OPTION_FLAG, AT(release)};
static const struct option_row opt_path = {
	"path", "PATH", "what it is about: an absolute path, or @name of an abstract socket",
	OPTION_TEXT, AT(path)};
static const struct option_row opt_op = {
	"op", "RIGHTS", "what is to be done to it: read, or several as in read,write", OPTION_TEXT,
	AT(op)};
static const struct option_row opt_as_seen_by = {
	"as-seen-by", "CGROUP",
	"map the path as this cgroup's members see it: a directory, a compartment or a unit",
	OPTION_TEXT, AT(as_seen_by)};
static const struct option_row opt_event = {
	"event", "SEQ", "explain this event, its number as `bulkhead events` shows it", OPTION_TEXT,
	AT(event)};
static const struct option_row opt_compartment = {
	"compartment", "NAME",
	"whose event it is (or its id), when several have one of this number", OPTION_TEXT,
	AT(compartment)};
static const struct option_row opt_learn_from = {
	"compartment", "NAME", "whose events (or its id); else those of the policy's name",
	OPTION_TEXT, AT(compartment)};

static const struct option_row opt_for = {"for", "TIME",
					  "how long, as in 30s, 10m, 2h, 1d; else until revoked",
					  OPTION_TEXT, AT(span)};
static const struct option_row opt_only = {
	"only", "NAME", "this name alone of those that its policy lists", OPTION_LIST, AT(only)};

static const struct option_row opt_deadline = {
	"deadline", "TIME",
	"when it is ended, as in 30s, 10m; no more than the policy's limit, wall", OPTION_TEXT,
	AT(deadline)};
static const struct option_row opt_report = {
	"report", "FILE", "where to write, as JSON, how it ended and what it used", OPTION_TEXT,
	AT(report)};

const struct command commands[] = {
	{.name = "check",
	 .words = "POLICY...",
	 .summary = "Read policies, check everything in them and run their tests",
	 .run = cmd_check,
	 .min_words = 1,
	 .max_words = SIZE_MAX,
	 .options = {&opt_var}},
	{.name = "explain",
	 .words = "[POLICY]",
	 .summary = "Say what a policy decides, by which rule, and where a path leads",
	 .run = cmd_explain,
	 .max_words = 1,
	 .options = {&opt_path, &opt_op, &opt_as_seen_by, &opt_event, &opt_compartment, &opt_var,
		     &opt_json}},
	{.name = "attach",
	 .words = "POLICY",
	 .summary = "Put a policy on what runs in a cgroup, a unit or below a process",
	 .run = cmd_attach,
	 .check = check_attach,
	 .min_words = 1,
	 .max_words = 1,
	 .options = {&opt_cgroup, &opt_unit, &opt_pid, &opt_var, &opt_json}},
	{.name = "detach",
	 .words = "[NAME|ID]",
	 .summary = "Release a compartment: what runs in it is no longer confined",
	 .run = cmd_detach,
	 .check = check_detach,
	 .max_words = 1,
	 .options = {&opt_cgroup, &opt_unit}},
	{.name = "status",
	 .words = "",
	 .summary = "List compartments, their state and what they were refused",
	 .run = cmd_status,
	 .options = {&opt_json}},
	{.name = "reload",
	 .words = "[NAME|ID]",
	 .summary = "Read policies again and switch to them, each in one step",
	 .run = cmd_reload,
	 .check = check_reload,
	 .max_words = 1,
	 .options = {&opt_all}},
	{.name = "grant",
	 .words = "NAME|ID egress",
	 .summary = "Let a compartment reach the destinations that its policy lists",
	 .run = cmd_grant,
	 .check = check_grant,
	 .min_words = 2,
	 .max_words = 2,
	 .options = {&opt_for, &opt_only}},
	{.name = "revoke",
	 .words = "NAME|ID egress",
	 .summary = "Take that back, and cut the connections that it has",
	 .run = cmd_revoke,
	 .check = check_revoke,
	 .min_words = 2,
	 .max_words = 2},
	{.name = "egress",
	 .words = "check POLICY DESTINATION",
	 .summary = "Say whether a policy's compartments reach NAME:PORT or a URL: connects there "
		    "once",
	 .run = cmd_egress,
	 .check = check_egress,
	 .min_words = 3,
	 .max_words = 3,
	 .options = {&opt_var, &opt_json}},
	{.name = "events",
	 .words = "",
	 .summary = "Show what was refused, lost and asked of the agent",
	 .run = cmd_events,
	 .options = {&opt_follow, &opt_json, &opt_scratch}},
	{.name = "learn",
	 .words = "POLICY [EVENTS]",
	 .summary = "Propose a policy from what a run in audit mode did (events --json)",
	 .run = cmd_learn,
	 .min_words = 1,
	 .max_words = 2,
	 .options = {&opt_learn_from, &opt_var}},
	{.name = "doctor",
	 .words = "",
	 .summary = "Say what is enforced on this host, hook by hook, and how that was proved",
	 .run = cmd_doctor,
	 .options = {&opt_json}},
	{.name = "env",
	 .words = "POLICY",
	 .summary = "Print the environment that a command of run would have, and why",
	 .run = cmd_env,
	 .min_words = 1,
	 .max_words = 1,
	 .options = {&opt_var, &opt_json}},
	{.name = "run",
	 .words = "POLICY",
	 .summary = "Run a command in a compartment of its own, without the agent",
	 .run = cmd_run,
	 .min_words = 1,
	 .max_words = 1,
	 .takes_command = true,
	 .options = {&opt_var, &opt_deadline, &opt_report}},
	{.name = "stop",
	 .words = "",
	 .summary = "Take the programs out of the kernel",
	 .run = cmd_stop,
	 .options = {&opt_release}},
	{.name = "admit",
	 .words = "",
	 .summary =
		 "Ask the agent to confine the unit that starts; for ExecCondition= of bound units",
	 .run = cmd_admit,
	 .check = check_admit,
	 .hidden = true,
	 .options = {&opt_unit}},
	{.name = "version", .words = "", .summary = "Print the version", .run = cmd_version},
	{.name = "help",
	 .words = "[COMMAND]",
	 .summary = "Print this, or what a command does",
	 .run = cmd_help,
	 .max_words = 1},
	{.name = NULL},
};
