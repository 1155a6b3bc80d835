/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One compartment's way out: what is wanted, what the present relay was told of it, and so what it is to be told next.
 * Level, not edge: whatever changes, and whenever a relay dies, the next question follows from the two.
 */
#ifndef DAEMON_WAY_H
#define DAEMON_WAY_H

#include <jansson.h>
#include <systemd/sd-event.h>
#include "compart/compart.h"
#include "kept.h"
#include "outlet.h"
#include "relay.h"

/* Network namespaces of one compartment: the host's, or a container's; a pod of several has one. At the bound: a further
 * one has no way out. All of BH_MAX_COMPARTMENTS are too many for BH_MAX_OUTLETS, which says so itself. */
#define WAY_MAX_NETS 16
#define WAY_WHY_SIZE 256
/* A namespace in which no member was seen for so long has sockets no longer: they would keep it. Who comes and goes finds
 * them there. */
#define WAY_UNSEEN_US 60000000ull

enum net_state {
	NET_FAILED, /* it has no sockets: `why`; tried again */
	NET_OPEN,   /* it has sockets */
	NET_TOLD,   /* which the relay has; `why`: and nobody is led to */
	NET_SET,    /* and where the kernel leads to */
	NET_GONE,   /* nobody is led there, we have none, and the relay may have some yet */
};

struct net {
	dev_t dev;
	ino_t ino; /* of the namespace, which lives while it has our sockets */
	enum net_state state;
	struct outlet outlet; /* unless FAILED; of GONE the cookie */
	bool seen;	      /* by the present round */
	uint64_t unseen_us;   /* since when, CLOCK_MONOTONIC; 0: it is */
	char why[WAY_WHY_SIZE];
};

/* What the relay is to be told next, in the order of the table of kinds (way.c). */
enum saying {
	SAY_NOTHING,
	SAY_OPEN,
	SAY_ADOPT,
	SAY_LIST,
	SAY_LISTEN,
	SAY_UNLISTEN,
	SAY_GRANT,
	SAY_REVOKE,
	SAY_CLOSE,
};

struct way {
	struct kept_of of;
	__u32 compartment;
	char *name, *cgroup;
	json_t *entries; /* of "list" */
	bool proxy;	 /* of it, too */
	struct kept_names names;
	int spent; /* file of what was uploaded; -1: there is none, and it is not opened */
	struct grant grant;
	struct net nets[WAY_MAX_NETS];
	size_t nnets;
	bool crowded; /* at the bound, said already */
	bool ended;   /* its compartment is gone, or lists nothing any more */

	unsigned int version; /* of what is listed and granted: counted up with each change */

	/* What the present relay knows. */
	bool opened, listed;
	bool had_list; /* listed, or another one */
	bool granted;  /* something, and if not `regrant` the grant */
	bool regrant;
	size_t adopted, to_adopt; /* names of `names` */
	bool stalled;		  /* it refused something: until the next round */
	char why[WAY_WHY_SIZE];	  /* what and why; "" when all is well */
};

/* Reads what is kept of it. NULL: out of memory. */
struct way *way_new(const struct compartment *c, const struct kept_of *of, const char *directory);
void way_free(struct way *way);
DEFINE_CLEANUP(struct way *, way_free)

/* Where it is to be counted what is uploaded, unless it has it; without it nothing leaves, and `why` says so. False: and
 * that is news. */
bool way_count(struct way *way, const char *directory);

/* "entries" of the destinations of a policy; NULL: out of memory. */
json_t *way_entries(const struct policy *policy);
/* From now on this is listed, and may be asked for by the proxy or not; takes it. */
void way_list(struct way *way, json_t *entries, bool proxy);
/* Can this be granted: a name that one of the entries stands for, or "*.NAME" as one is written? 0, -ENOENT, or -EINVAL
 * with a reason. ret: in the form that the relay takes. */
#define WAY_NAME_SIZE (2 + DESTINATION_NAME_SIZE)
int way_find_name(const struct way *way, const char *text, char ret[WAY_NAME_SIZE],
		  struct error *error);

/* What is granted, in place of what was; takes it. Zeroed: nothing. */
void way_grant(struct way *way, struct grant *grant);

enum saying way_due(const struct way *way);
/* Before others: what is taken away is taken first. */
bool way_is_urgent(const struct way *way);

/* A question that was asked, for its answer. */
struct way_question {
	enum saying saying;
	unsigned int version;
	__u64 netns; /* cookie; of LISTEN and UNLISTEN */
};
/* The question that is due; false: out of memory. */
bool way_say(const struct way *way, struct way_question *ret, struct relay_ask *ret_ask);
/* The relay did as it was told. */
void way_said(struct way *way, const struct way_question *question);
/* It did not. */
void way_refused(struct way *way, const struct way_question *question, int code, const char *why);
/* The network namespace of that cookie; NULL. */
struct net *way_net(struct way *way, __u64 cookie);
/* Gives back its sockets. */
void net_fail(struct net *net, const char *why);
/* Gives them back, and sees to it that the relay does. */
void net_leave(struct net *net);
/* The relay is another one, which knows nothing. */
void way_forgotten(struct way *way);
/* Is everything said, and does the kernel lead there, in one namespace at least? */
bool way_is_open(const struct way *way);

#endif
