/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests: a row in the table of requests.c, a handler in a file of its own. */
#ifndef DAEMON_REQUEST_H
#define DAEMON_REQUEST_H

#include "client.h"

/* The answer waits. What a handler returns after it has filled request->later in. */
#define REQUEST_LATER 1

/* What it waits for. */
struct later {
	/* 0, -errno and an error, or REQUEST_LATER. May add to the reply. */
	int (*settled)(struct daemon *d, struct later *later, struct error *error);
	/* When its time is over: 0, or -errno and an error that says what is in the way. NULL: nothing is known. */
	int (*overdue)(struct daemon *d, const struct later *later, struct error *error);
	uint64_t until_us; /* CLOCK_MONOTONIC */
	__u32 compartment;
	__u64 serial;
	json_t *body, *reply;
	const struct request_row *row;
};

struct request {
	struct client *client;
	struct daemon *daemon;
	const json_t *body;
	json_t *reply; /* an object to fill; sent whether it ends well or not */
	struct later later;
};

/* A field that must be a text when it is there; NULL when it is not. Types were checked. */
const char *request_text(const struct request *request, const char *field);
/* Makes the array "report" of the reply from a report. */
void request_report(struct request *request, const struct report *report);
/* Appends the compartment to the array "compartments" of the reply. */
void request_show(struct request *request, const struct compartment *c);

/* Each: 0, or -errno with an error for the client. */
int request_attach(struct request *request, struct error *error);
int request_admit(struct request *request, struct error *error);
int request_detach(struct request *request, struct error *error);
int request_reload(struct request *request, struct error *error);
int request_grant(struct request *request, struct error *error);
int request_revoke(struct request *request, struct error *error);
int request_outlets(struct request *request, struct error *error);
/* For who starts a unit: answered when what the policy lists can be reached, or will not be. */
int request_await_outlets(struct request *request, const struct compartment *c,
			  struct error *error);
int request_status(struct request *request, struct error *error);
int request_events(struct request *request, struct error *error);
int request_doctor(struct request *request, struct error *error);

#endif
