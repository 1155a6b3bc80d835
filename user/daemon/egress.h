/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The agent's side of egress: sees to it that each compartment that lists destinations has its outlets, that the relay
 * knows what is listed and granted, and that nothing of it outlives its reason. Nothing leaves without two yeses: the
 * policy's list and an operator's grant.
 *
 * Outlets are written by the running agent alone, which holds its lock: no kern_lock is taken for them.
 */
#ifndef DAEMON_EGRESS_H
#define DAEMON_EGRESS_H

#include "daemon.h"
#include "egress/config.h"
#include "way.h"

/* For an answer of the relay's, which asks nobody before it answers. */
#define EGRESS_ANSWER_MS 5000
/* Between the relay's death and the next one: doubled up to the second, from the first again when it lived for the
 * third. */
#define EGRESS_PAUSE_MS 100
#define EGRESS_PAUSE_MAX_MS 30000
#define EGRESS_STEADY_MS 60000

struct egress {
	struct daemon *daemon;
	const char *directory, *program;
	struct egress_config *config; /* NULL: egress is off */
	char off[ERROR_TEXT_SIZE];    /* why */
	char boot[KEPT_BOOT_SIZE];
	struct relay *relay;
	char *fence;	     /* directory of the relay's cgroup */
	__u64 fence_refused; /* told already */
	sd_event_source *look_timer, *expiry_timer;
	struct way *ways[BH_MAX_COMPARTMENTS]; /* by compartment id */
	__u32 turn;			       /* whose it is to be asked about */
	bool configured;		       /* the present relay is */
	bool unheard;			       /* it answered nothing since the last tick */
	bool asked;			       /* a question is open: about whom, and which */
	__u32 asked_id;			       /* 0: how it is configured, or whether it lives */
	struct way_question question;
};

struct egress_options {
	const char *config, *directory, *program; /* NULL: as installed */
};

/* Also where egress is off, which is no error. */
int egress_start(struct daemon *d, const struct egress_options *options, struct error *error);
/* Ends the relay; what is attached has no way out from then on. */
void egress_stop(struct daemon *d);

/* All of these do nothing before egress_start. */

/* A compartment came, went or has another policy. */
void egress_soon(struct daemon *d);
/* Looks now; what failed is tried again. */
void egress_tick(struct daemon *d);

/* Can a policy that lists destinations be attached? 0, or -EOPNOTSUPP and what to do. */
int egress_check(struct daemon *d, struct error *error);

/* The way out of a compartment that lists destinations; NULL: it has none, or not yet. */
struct way *egress_way(struct daemon *d, __u32 compartment);
/* -errno and an error, and what was granted before is granted still. Takes the grant when it is 0. */
int egress_grant(struct daemon *d, struct way *way, struct grant *grant, struct error *error);
void egress_revoke(struct daemon *d, struct way *way);

/* Is the text that was read the one in force? A file that was edited since lists nothing. */
bool egress_is_in_force(const struct compartment *c);

/* The first thing in the way of what is granted; "" for none. */
const char *egress_why(struct daemon *d, const struct compartment *c, const struct way *way);

/* For status: null where nothing is listed, and of the relay. */
json_t *egress_status(struct daemon *d, const struct compartment *c);
json_t *egress_relay_status(struct daemon *d);

/* --- egress_fence.c: the table of addresses around the relay, once more --- */
/* Before there is a relay. 0 or -errno with a reason: none is started then. */
int egress_fence(struct egress *e, struct error *error);
/* When there is no relay any more. */
void egress_fence_end(struct egress *e);
/* Tells of what it refused: the relay takes no address that it refuses, unless it is not itself. */
void egress_fence_look(struct egress *e);

/* --- egress_nets.c --- */
/* Sees to outlets in each network namespace that members stand in. */
void egress_scan(struct egress *e, struct way *way, bool nested);

/* --- egress_heard.c --- */
/* What the relay tells: 0 or -EBADMSG. */
int egress_heard(struct egress *e, const json_t *message);
struct way *egress_find(struct egress *e, __u64 serial);
void egress_tell(struct egress *e, const struct way *way, const char *what, const char *outcome,
		 const char *reason);

#endif
