/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The only user of libbpf. One program set a host: kern_open adopts the set found pinned under
 * KERN_PIN_DIR when its digest is ours, else loads, attaches and pins it. Closing gives back file
 * descriptors only; what is pinned goes on enforcing.
 *
 * All functions return 0 or -errno. Callers that change anything hold kern_lock.
 */
#ifndef KERN_KERN_H
#define KERN_KERN_H

#include <stdbool.h>
#include <sys/types.h>
#include <bulkhead/abi.h>
#include "base/log.h"
#include "policy/address.h"
#include "policy/automaton.h"

#define KERN_PIN_DIR "/sys/fs/bpf/bulkhead-1" /* by BH_ABI */
#define KERN_RUN_DIR "/run/bulkhead"

struct kern;

/* --- probe: what this kernel offers, asked without loading anything --- */
enum kern_need {
	KERN_NEED_ROOT, /* CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN, CAP_SYS_RESOURCE, CAP_NET_ADMIN
			   effective */
	KERN_NEED_BTF,	/* /sys/kernel/btf/vmlinux */
	KERN_NEED_LSM,	/* "bpf" in the active LSM list: without it programs load, attach and never
			   run */
	KERN_NEED_CGROUP2, /* a cgroup v2 hierarchy */
	KERN_NEED_BPFFS,   /* /sys/fs/bpf is a bpffs */
	KERN_NEED_JIT,	   /* trampolines need the BPF JIT */
	KERN_NEED_COUNT,
};

struct kern_probe {
	bool ok[KERN_NEED_COUNT];
	bool unknown[KERN_NEED_COUNT]; /* not ok: it could not be asked, for want of privilege */
	char remedy[KERN_NEED_COUNT][160]; /* what to do, when !ok */
	char release[65];		   /* uname -r */
	char lsm[256];			   /* active list, "" when it cannot be read */
	char cgroup_root[64];		   /* mount point of cgroup v2, "" when there is none */
};

/* Never fails; names of needs by kern_need_name. */
void kern_probe(struct kern_probe *ret);
const char *kern_need_name(enum kern_need need);
/* 0, or -EOPNOTSUPP with the first missing need and its remedy. */
int kern_probe_require(const struct kern_probe *probe, struct error *error);

/* --- the program set --- */
/* 1: a set is pinned, 0: none is, -errno and an error when that cannot be seen from here. */
int kern_is_loaded(struct error *error);
/* The same of any path. */
int kern_is_there(const char *path, struct error *error);
/* Refuses (-EOPNOTSUPP) when a need is missing; -ESTALE when another build's set is pinned. */
int kern_open(struct kern **ret, struct error *error);
void kern_close(struct kern *kern);
/* Whether verdicts that are known are used: in a set that was just loaded they are, unless BULKHEAD_CACHE=off
 * stands in the environment. Never on a kernel that does not tell of names that change. */
void kern_cache_switch(struct kern *kern, bool on);
bool kern_cache_is_on(struct kern *kern);
/* How long the same refusal is only counted after it was reported; 0: each is. In a set that was just loaded BH_FOLD_MS,
 * unless BULKHEAD_FOLD=off stands in the environment. */
void kern_fold_switch(struct kern *kern, unsigned int ms);
/* Detaches and unpins everything; -EBUSY while a compartment is not released. */
int kern_unload(struct kern *kern, struct error *error);
/* Exclusive advisory lock over all changes of the set and its maps, with a deadline. Recursion is
 * an error. */
int kern_lock(struct kern *kern, unsigned int deadline_ms, struct error *error);
void kern_unlock(struct kern *kern);

enum kern_hook_state {
	KERN_HOOK_ABSENT,     /* this kernel has no such hook */
	KERN_HOOK_ATTACHED,   /* a link of ours exists: its id was read back from the kernel */
	KERN_HOOK_LOST,	      /* should be attached and is not */
	KERN_HOOK_PER_CGROUP, /* attached to each compartment's cgroup */
	KERN_HOOK_IDLE,	      /* a re-check that nothing needs now */
};
/* Asks the kernel now. *ret_link_id is 0 unless ATTACHED. */
int kern_hook_state(struct kern *kern, enum bh_hook hook, enum kern_hook_state *ret,
		    __u32 *ret_link_id);

/* --- compartments --- */
/* Reserves a free id (1..BH_MAX_COMPARTMENTS-1): entry zeroed but generation != 0, state CLOSED,
 * tally zeroed. -ENOSPC. */
int kern_compartment_new(struct kern *kern, __u32 *ret_id);
/* Entry of an id; -ENOENT when the id is free. */
int kern_compartment_get(struct kern *kern, __u32 id, struct bh_compartment *ret);
/* Changes an entry that was got: serial and tally stay (-EINVAL). */
int kern_compartment_set(struct kern *kern, __u32 id, const struct bh_compartment *entry);
/* Frees the id; the caller has made sure that no task bears its label (kern_tasks). */
int kern_compartment_free(struct kern *kern, __u32 id);
int kern_tally(struct kern *kern, __u32 id, struct bh_tally *ret);

/* --- policy generations --- */
/* Installs table, head and starts under a new generation number, reads them back. Not yet used by
 * any compartment. Attaches the re-check of appending first when the table needs it; kern_policy_remove takes
 * it away with the last that does. */
int kern_policy_install(struct kern *kern, const struct automaton *automaton, __u32 *ret_generation,
			struct error *error);
/* Waits until nobody decides by it who found it in force (a grace period of the kernel's: milliseconds):
 * no compartment may name it any more. Removed also when it could not wait: that error is the answer. */
int kern_policy_remove(struct kern *kern, __u32 generation);

/* Ports that a generation names, which is installed and not in force yet; it has BH_POLICY_LISTEN. -ENOSPC. They go with
 * it. */
int kern_ports_set(struct kern *kern, __u32 generation, const struct bh_port *ports, size_t nports);

/* --- files with several names --- */
/* The files behind n descriptors of this process (O_PATH ones too). */
int kern_inodes(struct kern *kern, const int *fds, size_t n, struct bh_inode *ret,
		struct error *error);
/* What stands at this name in the directory is denied `perms` by the generation, whatever else it is
 * called; 0: it is a directory on the way to such a name. *ret_pin: the number of the name. -E2BIG when
 * there is no room. */
int kern_pin_name(struct kern *kern, __u32 generation, const struct bh_inode *directory,
		  const char *name, __u32 perms, __u32 *ret_pin);
/* This file stands there. */
int kern_pin(struct kern *kern, const struct bh_inode *inode, __u32 pin);
int kern_policy_loosen(struct kern *kern, __u32 generation, enum bh_loose loose);
/* enum bh_loose, or -ENOENT. */
int kern_policy_loose(struct kern *kern, __u32 generation);

/* --- cgroups --- */
/* cgroup id of a cgroup v2 directory (its inode number as the kernel programs see it). */
int kern_cgroup_id(const char *path, __u64 *ret_id);
int kern_cgroup_set(struct kern *kern, __u64 cgroup_id, __u32 compartment, __u32 flags);
int kern_cgroup_unset(struct kern *kern, __u64 cgroup_id);
/* Compartment of exactly this cgroup; -ENOENT. */
int kern_cgroup_get(struct kern *kern, __u64 cgroup_id, __u32 *ret_compartment);
/* The cgroup programs of this cgroup; links pinned by cgroup id. Idempotent. */
int kern_egress_attach(struct kern *kern, const char *cgroup_path, __u64 cgroup_id,
		       __u32 compartment, struct error *error);
int kern_egress_detach(struct kern *kern, __u64 cgroup_id);

/* --- outlets: where what members send goes --- */
/* The way out of a compartment in one network namespace (its cookie); read back. -ENOSPC. */
int kern_outlet_set(struct kern *kern, __u32 compartment, __u64 netns,
		    const struct bh_outlet *outlet);
/* Takes away one, or all of a compartment's: it has no way out then. */
int kern_outlet_unset(struct kern *kern, __u32 compartment, __u64 netns);
int kern_outlets_clear(struct kern *kern, __u32 compartment);
/* Marks the socket behind an outlet of the compartment of this serial: no other one is taken for it. Born within the
 * relay's fence it hears members alone. */
int kern_outlet_mark(struct kern *kern, int socket_fd, __u32 compartment, __u64 serial);
/* The map of flows (struct bh_flow_key to struct bh_flow), for who takes connections. The set's. */
int kern_flows_fd(const struct kern *kern);
/* Forgets all of them: who was to take them is gone, and somebody may have their clients' ports next. */
int kern_flows_clear(struct kern *kern);

/* --- the relay's fence --- */
struct kern_resolver {
	struct address address;
	__u16 port;
};
/* What may be dialled from the relay's cgroup: what is public by the table and the rules, and the resolvers. In place of
 * what was said before; until it is whole, less may be. -ENOSPC. */
int kern_fence_fill(struct kern *kern, const struct address_rules *rules,
		    const struct kern_resolver *resolvers, size_t n);
/* The fence around this cgroup and what is born in it; links pinned. Idempotent; another one's fence is taken down. */
int kern_fence_attach(struct kern *kern, const char *cgroup_path, struct error *error);
int kern_fence_detach(struct kern *kern);
int kern_fence_refused(struct kern *kern, __u64 *ret);

/* --- superblocks --- */
/* The superblock entry behind each of n descriptors of this process (O_PATH ones too), learnt when
 * new. */
int kern_superblocks(struct kern *kern, const int *fds, size_t n, struct bh_superblock *ret,
		     struct error *error);

/* What hooks make of a filesystem of this type ("proc"): BH_SB_PLAIN unless it is special. */
enum bh_sb_class kern_superblock_class(const char *type);

/* --- tasks --- */
/* Every thread of the host that matches, by the kernel's own task iterator. Free *ret with free().
 */
int kern_tasks(struct kern *kern, const struct bh_task_query *query, struct bh_task **ret,
	       size_t *ret_n, struct error *error);

/* While up, every hook of every task asks the cgroup. Raised by the kernel on each move into a
 * subtree and by enrolment; lowered by the amount that was read before all threads were labelled.
 */
int kern_ask_raise(struct kern *kern);
int kern_ask_lower(struct kern *kern, __u32 amount);
__u32 kern_ask_read(struct kern *kern);

/* --- re-checks: programs that are attached while something needs them --- */
enum kern_recheck {
	KERN_RECHECK_REVOKED, /* open files are revoked */
	KERN_RECHECK_APPEND, /* a policy gives append without write: kern_policy_install sees to it */
	KERN_RECHECK_COUNT,
};
/* The one that carries the hook, or -ENOENT. */
int kern_recheck_set(enum bh_hook hook);
/* Loads a set of them, which takes as long as a quarter of all other programs, and pins it; it stays loaded.
 * Idempotent. */
int kern_rechecks_load(struct kern *kern, enum kern_recheck set, struct error *error);
/* Loads and attaches it; kept until kern_rechecks_settle finds nothing that needs it. Idempotent. */
int kern_rechecks_attach(struct kern *kern, enum kern_recheck set, struct error *error);
/* Takes away what nothing needs (any more). */
int kern_rechecks_settle(struct kern *kern);

/* --- open files that a compartment may not use any more --- */
struct kern_held {
	pid_t pid, tid; /* whose table */
	int fd;
	bool keep; /* not to be revoked, by whatever other number it is held */
	/* filled in: the open file (0: it is gone), and whether it was revoked */
	__u64 file;
	bool revoked;
};
/*
 * Revokes the open files behind these descriptors, sorted by process, for the compartment of this serial:
 * of processes that are frozen, or the caller's own. Read back. Those that are gone are left out. The
 * re-checks are attached. -ENOSPC.
 */
int kern_revoke(struct kern *kern, __u64 serial, struct kern_held *held, size_t n,
		struct error *error);
/* Forgets all of a compartment's. */
int kern_revoke_end(struct kern *kern, __u64 serial);
/* Open files that are revoked for the compartment and live; serial 0: for any. */
int kern_revoked(struct kern *kern, __u64 serial, __u32 *ret_n);

/* --- events --- */
typedef int (*kern_event_fn)(const struct bh_event *event, size_t size, void *data);
struct kern_ring;
int kern_ring_open(struct kern *kern, kern_event_fn fn, void *data, struct kern_ring **ret);
void kern_ring_close(struct kern_ring *ring);
int kern_ring_fd(struct kern_ring *ring);      /* poll it for input */
int kern_ring_consume(struct kern_ring *ring); /* number of events, or -errno; never blocks */
/*
 * Takes the repeats that nobody told of, and hands each kind's to fn as an event (BH_EVENT_REPEATED): those of a
 * compartment (an id may have been another's before: see the event's generation), or with 0 those that nobody goes on
 * repeating. What fn answers with but 0 ends it.
 */
int kern_folds_take(struct kern *kern, __u32 compartment, kern_event_fn fn, void *data);

#endif
