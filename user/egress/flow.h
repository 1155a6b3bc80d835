/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bytes between two TCP connections, a client's and its server's: little through memory, much by splice(2) through a
 * pipe that the direction has from then on. What one ends the other's end is told (half-close survives), what one resets
 * is reset, and what neither ends the deadlines do. What the client sends is counted, and cut where its allowance ends.
 *
 * For one thread with an event loop, of a process that ignores SIGPIPE.
 */
#ifndef EGRESS_FLOW_H
#define EGRESS_FLOW_H

#include <stddef.h>
#include <systemd/sd-event.h>
#include <linux/types.h>

struct flow;

enum flow_outcome {
	FLOW_ENDED, /* by both */
	FLOW_RESET, /* by one of them, or by the network */
	FLOW_IDLE,  /* nothing moved for idle_ms */
	FLOW_OUT_OF_TIME,
	FLOW_OVER_UPLOAD,
	FLOW_CUT,      /* flow_cut */
	FLOW_INTERNAL, /* there was no descriptor for a pipe */
	FLOW_OUTCOMES
};

extern const char *const flow_outcome_names[FLOW_OUTCOMES];

struct flow_counts {
	__u64 up, down; /* bytes that were handed over to the server, to the client */
};

/* The end of one, which is gone then, as its connections are: closed after ENDED, reset after anything else. TCP's urgent
 * data is a RESET: it has no way through a pipe. */
typedef void (*flow_ended_fn)(void *data, enum flow_outcome outcome,
			      const struct flow_counts *counts);

struct flow_options {
	unsigned int idle_ms, total_ms; /* both above 0 */
	/* What the client may send yet, counted down; several flows may share it. NULL: without end. It outlives them. */
	__u64 *upload_left;
	/* What the client sent already, which goes first; FLOW_FIRST bytes at most, and of its allowance. */
	const void *first;
	size_t first_length;
	flow_ended_fn ended;
	void *data;
};

#define FLOW_FIRST \
	32768 /* a ClientHello in all its records (hello.h), and half of what a pipe holds */

/* Takes both descriptors, which are non-blocking; `ended` is called by the loop, never from here. 0, or -errno and they
 * are the caller's still: -EINVAL, -E2BIG for too much of first, -EDQUOT where the allowance is less than that, -EAGAIN
 * where the pipe is smaller, because the user has too many (pipe(7)). */
int flow_new(sd_event *event, int client, int server, const struct flow_options *options,
	     struct flow **ret);
/* Ends it now and resets both, with outcome CUT: `ended` is called before it returns. */
void flow_cut(struct flow *flow);
struct flow_counts flow_counts(const struct flow *flow);

#endif
