/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A member that holds descriptors of each kind, and does with them what it is told through a page that it
 * shares with the harness: held.c, received.c.
 */
#ifndef TESTS_HELD_H
#define TESTS_HELD_H

#include "board.h"
#include "compart/compart.h"
#include "harness.h"

/* What the member holds, by number. */
enum {
	FIRST_FD = 200,
	SECRET = FIRST_FD, /* no rule allows it */
	DIRECTORY,
	DELETED, /* where it stood, all may be done */
	UDP,
	TCP, /* connected to TCP_PEER */
	LISTENER,
	NAMED, /* unix, connected to LISTED */
	PIDFD, /* the harness's */
	OPEN,  /* may be read */
	PIPE_OUT,
	MINE, /* its end of a pair with the harness */
	LAST_MEMBER_FD,
	PIPE_IN = LAST_MEMBER_FD, /* the harness's alone, from here on */
	TCP_PEER,
	NAMED_PEER,
	OURS,
	LAST_FD,
};

struct stage {
	struct kern *kern;
	struct board *board;
	struct compartment *compartment;
	struct report report;
	struct cell *cell; /* around the compartment */
	char *cgroup;
	pid_t member;
	int acts;
	cell_fn main; /* the member's, when not the usual one */
};

/* The keys of a policy's `existing:` that takes all that can be taken. */
#define REVOKE "{default: revoke, mappings: report, keep: [stdio]}"

/* Makes descriptors and the member, writes the policy; attaches nothing. -1 after case_fail. */
int stage_init(struct stage *s, struct kern *kern, const char *existing);
/* 0, or -errno and an error. */
int stage_attach(struct stage *s, struct error *error);
/* The same, and makes s->cell; -1 after case_fail. */
int stage_enforce(struct stage *s);
void stage_done(struct stage *s);
#define _cleanup_stage_ _cleanup_(stage_done)

/* What the member does, and who refuses it. Ends with a row without a name. */
struct held_act {
	const char *name;
	int (*act)(int fd);
	int fd;
	enum bh_hook hook; /* NONE: goes on */
	int error;
	const char *tail; /* of the event's path; NULL: a socket, or something else */
};
extern const struct held_act held_acts[];

/* 0 or the errno that the member met, or VERB_BROKEN + something; by number, by name. */
int stage_does_nth(struct stage *s, int i);
int stage_does(struct stage *s, const char *act);
/* Takes a descriptor that lies in its pair with the harness: EBADF when there came none. */
int stage_takes(struct stage *s);
/* One act under the policy: result, counter and event; -1 after case_fail. */
int stage_check_nth(struct stage *s, int i);
int stage_check(struct stage *s, const char *act);
/* Programs attached while something is revoked. */
int count_links(void);
/* Nothing is revoked, and nothing attached for it. */
int check_idle(struct kern *kern, const char *when);

/* A descriptor over a socket: positive errno or 0; a descriptor or -1. */
int send_fd(int socket, int fd);
int take_fd(int socket);

#endif
