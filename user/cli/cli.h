/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the commands share: the agent's other end, tables, and each other's rows. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdint.h>
#include <stdio.h>
#include <jansson.h>
#include "base/cleanup.h"
#include "options.h"

DEFINE_CLEANUP(json_t *, json_decref)
#define _cleanup_json_ _cleanup_(cleanup_json_decref)

/* --- agent.c --- */
struct agent;
/* -ENOENT or -ECONNREFUSED when no agent runs. */
int agent_open(struct agent **ret, struct error *error);
void agent_close(struct agent *agent);
DEFINE_CLEANUP(struct agent *, agent_close)
/*
 * Sends a request (takes it) and waits for the answer. When the agent says no, its error is the
 * error; *ret_reply is its answer then, too, as it may have a report (leave it alone when -errno is
 * for want of an answer; set it to NULL before).
 */
int agent_ask(struct agent *agent, json_t *request, json_t **ret_reply, struct error *error);
/* The next record after "events". Waits for as long as it takes; 1, 0 at the end, or -errno. */
int agent_next(struct agent *agent, char **ret_line);
/* Connects, asks, hangs up. */
int agent_call(json_t *request, json_t **ret_reply, struct error *error);
/* Does a running agent hold its lock? */
bool agent_is_running(void);

/* --- table.c: aligned columns --- */
struct table;
struct table *table_new(size_t columns, const char *const *titles);
void table_free(struct table *table);
DEFINE_CLEANUP(struct table *, table_free)
void table_row(struct table *table, const char *const *cells); /* one a column; copied */
void table_print(const struct table *table, FILE *to);
/* Heading of a part of the output; bold on a terminal. */
void print_heading(const char *text, FILE *to);

/* --- json.c: parts of answers for programs --- */
struct policy;
json_t *text_json(const char *text); /* escape_bytes; null of NULL */
json_t *policy_json(const struct policy *policy);

/* --- show.c: answers for people --- */
const char *text_of(const json_t *object, const char *field); /* "" when it is not there */
void show_report(const json_t *reply, FILE *to);
void show_compartments(const json_t *array);
void show_vectors(const json_t *vectors, FILE *to);
int show_json(const json_t *object);
/* --- show_egress.c --- */
void show_way_out(const json_t *compartment);
void show_dropped(const json_t *compartment);
void show_relay(const json_t *agent);
/* A line of an entry of a policy's. */
void show_terms(const char *to, const char *discloses, uint64_t max_upload, bool tls);

/* --- cmd_status.c --- */
/* {"compartments": [...], ...}, from the agent or, for root without one, from the kernel's tables. */
int status_ask(json_t **ret, struct error *error);

/* --- one file each; the usage of those that rows do not describe --- */
int check_attach(const struct arguments *arguments, struct error *error);
int check_detach(const struct arguments *arguments, struct error *error);
int check_reload(const struct arguments *arguments, struct error *error);
int check_grant(const struct arguments *arguments, struct error *error);
int check_revoke(const struct arguments *arguments, struct error *error);
int check_egress(const struct arguments *arguments, struct error *error);
int check_admit(const struct arguments *arguments, struct error *error);
int cmd_check(const struct arguments *arguments, struct error *error);
int cmd_attach(const struct arguments *arguments, struct error *error);
int cmd_detach(const struct arguments *arguments, struct error *error);
int cmd_status(const struct arguments *arguments, struct error *error);
int cmd_reload(const struct arguments *arguments, struct error *error);
int cmd_events(const struct arguments *arguments, struct error *error);
int cmd_explain(const struct arguments *arguments, struct error *error);
int cmd_learn(const struct arguments *arguments, struct error *error);
int cmd_grant(const struct arguments *arguments, struct error *error);
int cmd_revoke(const struct arguments *arguments, struct error *error);
int cmd_egress(const struct arguments *arguments, struct error *error);
int cmd_doctor(const struct arguments *arguments, struct error *error);
int cmd_env(const struct arguments *arguments, struct error *error);
int cmd_run(const struct arguments *arguments, struct error *error);
int cmd_stop(const struct arguments *arguments, struct error *error);
int cmd_admit(const struct arguments *arguments, struct error *error);
int cmd_help(const struct arguments *arguments, struct error *error);
int cmd_version(const struct arguments *arguments, struct error *error);

#endif
