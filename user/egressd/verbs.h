/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the agent asks for (egress/channel.h): a row in the table of verbs.c, a handler. Each is answered. */
#ifndef EGRESSD_VERBS_H
#define EGRESSD_VERBS_H

#include "egressd.h"

void verbs_handle(struct egressd *e, struct message *message);

/* --- handlers --- */

struct request {
	struct egressd *egressd;
	struct compartment *compartment; /* where the verb is of one that is open */
	__u64 serial;
	const json_t *body;	 /* its fields are there, and of their kinds */
	struct message *message; /* whose descriptors may be taken */
};

/* Of a field that is a number, or a text; 0 or NULL where it is not there. */
json_int_t number_of(const struct request *request, const char *field);
const char *text_of(const struct request *request, const char *field);
/* A number of milliseconds, from 1 on. 0, or -EINVAL with a reason. */
int check_ms(const struct request *request, const char *field, json_int_t most,
	     struct error *error);

/* Each: 0, or -errno with a reason, which may be empty. */
int verb_configure(struct request *request, struct error *error);
int verb_open(struct request *request, struct error *error);
int verb_adopt(struct request *request, struct error *error);
int verb_list(struct request *request, struct error *error);
int verb_listen(struct request *request, struct error *error);
int verb_unlisten(struct request *request, struct error *error);
int verb_grant(struct request *request, struct error *error);
int verb_revoke(struct request *request, struct error *error);
int verb_close(struct request *request, struct error *error);

#endif
