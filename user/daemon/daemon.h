/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The agent: its state, and what its files offer to each other. One thread, one event loop. */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H

#include <jansson.h>
#include <systemd/sd-event.h>
#include "audit/loss.h"
#include "audit/sink.h"
#include "compart/compart.h"
#include "compart/control.h"
#include "view.h"

struct client;
struct egress;

/* What the agent remembers of a compartment. */
struct entry {
	struct compartment *record; /* NULL: none, or not looked up */
	struct view view;	    /* of its members */
	uint64_t record_us;	    /* when last looked for, CLOCK_MONOTONIC */
	uint64_t renew_us;	    /* the end of the last renewal, CLOCK_MONOTONIC */
	uint64_t pause_us;	    /* until the next, at least */
	uint64_t doubt_us; /* the same where members ask for it and the last one changed nothing */
	uint64_t look_until_us; /* while it starts: compared again and again */
	bool tripped;		/* said already */
	bool renew;		/* its view is out of date */
	bool renew_now;		/* that was seen: it waits for no other's doubt */
	bool edited;		/* its policy was, and that was said */
	bool look;		/* something was mounted: to be compared */
	bool look_again;	/* it could not be, or starts */
	bool look_failed;	/* said already */
	__u64 settled_seq;	/* events numbered at the last tick: all have come by now */
	__u64 lost_before;	/* kernel's count when the account began, less what was made good */
	__u32 old_generation;	/* before the last reload; its events may still be on their way */
};

struct daemon {
	sd_event *event;
	sd_event_source *settle_timer, *tick_timer, *renew_timer, *look_timer, *mounts;
	struct kern *kern;
	struct kern_ring *ring;
	struct entry entries[BH_MAX_COMPARTMENTS];
	struct view view;	     /* the agent's own */
	__u32 look_next, renew_next; /* where the rounds go on */
	struct loss *loss;
	struct sink *sink;
	gid_t group; /* that may read; -1: there is none */
	gid_t admins;
	int lock;
	int listener;
	struct client *clients;
	unsigned int nclients;
	const char *egress_config; /* NULL: where it is installed */
	struct egress *egress;
	__u64 malformed;    /* events that made no sense */
	unsigned int batch; /* events read since the loop was last asked */
	bool emptied;	    /* the ring was read to its end since the last tick */
};

/* --- startup.c --- */
/* Everything but the loop, in order; on failure the caller frees the daemon. */
int daemon_start(struct daemon *d, struct error *error);

/* --- registry.c: records, policies and views by compartment id --- */
/* Brings the records in line with the kernel's table: what other processes made and removed. */
void registry_refresh(struct daemon *d);
/* The entry an event of this generation belongs to; its record may be NULL. */
struct entry *registry_find(struct daemon *d, __u32 id, __u32 generation);
void registry_put(struct daemon *d, struct compartment *record); /* takes it */
void registry_drop(struct daemon *d, __u32 id);
/* Takes what its record says now; where there is none it stays as it was. */
void registry_read(struct daemon *d, __u32 id);
/* compartment_reload of a compartment of the registry. */
int registry_reload(struct daemon *d, struct compartment *c, struct error *error);
/* Path as people write it, NULL when the view has none; valid until the next call. */
const char *registry_translate(struct daemon *d, struct entry *entry, __u32 sbid, const char *path,
			       size_t length);
/* Compartments named by a request: {"target": NAME or ID} or "cgroup", "unit", "all". Pointers into
 * the registry in ret (BH_MAX_COMPARTMENTS). -ENOENT, -ENOTUNIQ for an ambiguous name. */
int registry_select(struct daemon *d, const json_t *request, struct compartment **ret,
		    size_t *ret_n, struct error *error);

/* --- stream.c: events to records, records to readers --- */
int stream_open(struct daemon *d, struct error *error);
/* Reads a bounded number of events: a compartment that is refused without end must not keep the
 * loop from anybody else. True when the ring is empty. */
bool stream_drain(struct daemon *d);
/* Tells of repeats that wait in the kernel: of a compartment all, with 0 what nobody goes on repeating. */
void stream_repeats(struct daemon *d, __u32 compartment);
void stream_publish(struct daemon *d, json_t *record); /* takes it */
void stream_lost(struct daemon *d, __u32 compartment, __u64 count);
int64_t now_realtime_ns(void);
uint64_t now_us(void); /* CLOCK_MONOTONIC */

/* --- timer.c: timers of the loop, which fire once --- */
void timer_arm(sd_event_source *timer, uint64_t after_us);
/* Unless it fires sooner: of a burst all are done at once, and none puts it off. */
void timer_arm_by(sd_event_source *timer, uint64_t after_us);
bool timer_is_armed(sd_event_source *timer);

/* --- upkeep.c: what timers do --- */
int upkeep_start(struct daemon *d, struct error *error);
void upkeep_moved(struct daemon *d);			  /* a task crossed an edge: label soon */
void upkeep_renew(struct daemon *d, struct entry *entry); /* a view seems out of date */
void upkeep_renew_now(struct daemon *d, struct entry *entry); /* it is */
void upkeep_tripped(struct daemon *d, __u32 id);	      /* ends it, if it is tripped */

/* --- mountwatch.c: what the host mounts --- */
int mountwatch_start(struct daemon *d, struct error *error);
/* Compares its view with what its members see, soon. */
void mountwatch_add(struct daemon *d, struct entry *entry);

/* --- server.c: the control socket --- */
int server_start(struct daemon *d, struct error *error);
void server_stop(struct daemon *d);
/* One line to every subscriber; never blocks. */
void server_publish(struct daemon *d, const char *line, size_t n);

#endif
