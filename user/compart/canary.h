/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the canary tries, one row a hook. Internal to canary.c and canary_attempts.c.
 *
 * Every attempt is harmless when it goes through: it names the canary's own scratch files, sends an
 * empty datagram to its own socket, or asks for something that the kernel refuses one step later.
 */
#ifndef COMPART_CANARY_H
#define COMPART_CANARY_H

#include <stdbool.h>
#include <netinet/in.h>
#include <sys/types.h>
#include <sys/un.h>
#include <bulkhead/abi.h>

#define CANARY_PATH_SIZE 128

struct canary_address {
	struct sockaddr_un sun;
	socklen_t length;
};

/* What attempts work on, made by the outsider before anything is armed. -1: not there. */
struct canary_stage {
	char dir[CANARY_PATH_SIZE];    /* the scratch directory, absolute and free of symlinks */
	char secret[CANARY_PATH_SIZE]; /* a file that no rule names */
	char open[CANARY_PATH_SIZE];   /* a file that may be read */
	char log[CANARY_PATH_SIZE];    /* a file that may be appended to */
	char fresh[CANARY_PATH_SIZE];  /* a name that nothing bears */
	char sub[CANARY_PATH_SIZE];    /* an empty directory */
	char program[4096]; /* an existing program that may be opened as interpreter, not executed
			     */
	int secret_fd;	    /* open for writing */
	int open_fd;	    /* open for reading */
	int log_fd;	    /* open for appending */
	int inet;	    /* UDP socket made outside */
	int born4, born6;   /* UDP sockets made in the cgroup before it was armed */
	int listener, receiver;		       /* unix sockets of the outsider */
	struct canary_address stream, dgram;   /* their abstract names */
	int held, held_pair[2], held_listener; /* a file and sockets that are revoked */
	int cgroup;			       /* the scratch cgroup's directory */
	int results;			       /* pipe the records go to */
	int release;			       /* pipe whose end of file lets the grandchild go */
	pid_t outsider;
};

/* Who makes the attempt. */
enum canary_actor {
	CANARY_INSIDER,	 /* the confined child */
	CANARY_OUTSIDER, /* the caller, with a socket born inside */
	CANARY_MOVE,	 /* nobody: the child's own way in is the proof */
};

struct canary_attempt {
	enum bh_hook hook;
	enum canary_actor actor;
	int (*try)(const struct canary_stage *stage); /* positive errno, 0: went through */
};

/* Ends with a row of BH_HOOK_NONE. Exactly one row for each hook of the table. */
extern const struct canary_attempt canary_attempts[];

/* What the child says of one attempt, in one write: less than PIPE_BUF, so never torn. */
struct canary_record {
	__u32 hook; /* BH_HOOK_NONE: the control, reading what may be read */
	__s32 error;
	__u32 pid; /* of who tried */
};

/* Reports through stage->results; 0 or -errno. */
int canary_report(const struct canary_stage *stage, enum bh_hook hook, int error);
/* Reading what the policy allows: positive errno, 0 as it should be. */
int canary_control(const struct canary_stage *stage);

#endif
