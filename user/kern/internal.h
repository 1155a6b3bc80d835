/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files of user/kern alone. */
#ifndef KERN_INTERNAL_H
#define KERN_INTERNAL_H

#include "kern.h"

struct btf;

/* Maps that user space opens by name when it adopts a pinned set. */
#define KERN_MAPS(X)                           \
	X(COMPARTMENTS, "bh_compartments")     \
	X(CGROUPS, "bh_cgroups")               \
	X(POLICIES, "bh_policies")             \
	X(TABLES, "bh_tables")                 \
	X(SUPERBLOCKS, "bh_superblocks")       \
	X(STARTS, "bh_starts")                 \
	X(MADE, "bh_made")                     \
	X(PINS, "bh_pins")                     \
	X(PIN_DIRS, "bh_pin_directories")      \
	X(PIN_NAMES, "bh_pin_names")           \
	X(PIN_RULES, "bh_pin_rules")           \
	X(TALLIES, "bh_tallies")               \
	X(RING, "bh_ring")                     \
	X(EGRESS, "bh_egress")                 \
	X(OUTLETS, "bh_outlets")               \
	X(OUTLET_SOCKETS, "bh_outlet_sockets") \
	X(FLOWS, "bh_flows")                   \
	X(PORTS, "bh_ports")                   \
	X(FENCE4, "bh_fence4")                 \
	X(FENCE6, "bh_fence6")                 \
	X(RESOLVERS, "bh_resolvers")           \
	X(FENCE_REFUSALS, "bh_fence_refusals") \
	X(QUERIES, "bh_queries")               \
	X(METAS, "bh_metas")                   \
	X(REVOKED, "bh_revoked")               \
	X(FOLDS, "bh_folds")                   \
	X(ASK, "data_ask")                     \
	X(CACHE, "data_cache")                 \
	X(FOLD_NS, "data_fold")

#define KERN_MAP_ENUM_(name, text) KERN_MAP_##name,
enum kern_map { KERN_MAPS(KERN_MAP_ENUM_) KERN_MAP_COUNT };
#undef KERN_MAP_ENUM_

/* Programs that are not attached for good: iterators, and cgroup programs. */
#define KERN_PROGS(X)                          \
	X(ITER_TASK, "bh_iter_task")           \
	X(ITER_FILE, "bh_iter_file")           \
	X(CONNECT4, "bh_connect4")             \
	X(CONNECT6, "bh_connect6")             \
	X(SENDMSG4, "bh_sendmsg4")             \
	X(SENDMSG6, "bh_sendmsg6")             \
	X(RECVMSG4, "bh_recvmsg4")             \
	X(RECVMSG6, "bh_recvmsg6")             \
	X(PEERNAME4, "bh_getpeername4")        \
	X(PEERNAME6, "bh_getpeername6")        \
	X(SOCKOPS, "bh_sockops")               \
	X(WIRE_OUT, "bh_wire_out")             \
	X(WIRE_IN, "bh_wire_in")               \
	X(FENCE_CONNECT4, "bh_fence_connect4") \
	X(FENCE_CONNECT6, "bh_fence_connect6") \
	X(FENCE_SENDMSG4, "bh_fence_sendmsg4") \
	X(FENCE_SENDMSG6, "bh_fence_sendmsg6") \
	X(FENCE_IN, "bh_fence_in")

#define KERN_PROG_ENUM_(name, text) KERN_PROG_##name,
enum kern_prog { KERN_PROGS(KERN_PROG_ENUM_) KERN_PROG_COUNT };
#undef KERN_PROG_ENUM_

struct kern {
	int maps[KERN_MAP_COUNT];
	int progs[KERN_PROG_COUNT];
	volatile __u32 *ask; /* the kernel programs' bh_ask, mapped */
	volatile struct bh_cache *cache;
	volatile __u64 *fold_ns;
	struct bh_fold *folds; /* the map's memory */
	struct btf *btf;       /* the kernel's, read when first asked for: it takes long */
	int lock_fd;
	bool locked;
};

/* --- load.c --- */
/* Loads, attaches and pins the set; nothing of it is left when that fails. The caller holds the lock. */
int kern_load(struct error *error);
/* SHA-256 of the built-in object. */
void kern_digest(__u8 digest[32]);
bool kern_has_hook(const struct btf *btf, const char *hook);

#define KERN_FOLDS_SIZE (BH_FOLDS * sizeof(struct bh_fold))

int kern_meta_read(struct kern *kern, struct bh_meta *ret);
int kern_meta_write(struct kern *kern, const struct bh_meta *meta);
/* --- recheck.c --- */
/* Programs that are attached while something needs them, and their links meanwhile: below these a directory
 * a set, in it pins by the name of the hook. */
#define KERN_RECHECKS "rechecks"
#define KERN_RECHECK_LINKS "recheck-links"
struct kern_recheck_row {
	enum bh_hook hook;
	enum kern_recheck set;
	const char *name; /* of the kernel's hook, and of the pin */
};
/* What carries the hook's row, or NULL: an own pin of the set of programs does. */
const struct kern_recheck_row *kern_recheck_of(enum bh_hook hook);
/* The set that a program belongs to, or -ENOENT: it is none of these. */
int kern_recheck_of_program(const char *program);
/* 1, 0 or -errno. */
int kern_recheck_is_needed(struct kern *kern, enum kern_recheck set);
/* Of a pin, or with name NULL of the directory. */
void kern_recheck_path(char *buffer, size_t size, const char *pins, enum kern_recheck set,
		       const char *name);
/* 0, or -ESTALE: a set is needed and not all of it is attached. */
int kern_rechecks_check(struct kern *kern, struct error *error);

/* kern_policy_install and kern_policy_remove, of the maps alone: without the re-check that it may need. */
int kern_policy_write(struct kern *kern, const struct automaton *automaton, __u32 *ret_generation,
		      struct error *error);
int kern_policy_clear(struct kern *kern, __u32 generation);
/* Has any policy that stands in the kernel one of these flags? 1, 0 or -errno. */
int kern_policies_say(struct kern *kern, __u32 flags);
/* Pins in a directory below KERN_PIN_DIR; none where there is no directory. */
int kern_pins_count(const char *directory, __u32 *ret);
/* Path of a pin below KERN_PIN_DIR. */
void kern_pin_path(char *buffer, size_t size, const char *directory, const char *name);
/* Removes a directory of pins and everything below it. */
int kern_pins_remove(const char *path);
/* Reads all an iterator program has to say; *ret freed by the caller. */
int kern_iterate(int prog_fd, pid_t tgid, void **ret, size_t *ret_size);
/* Of a table of that many words. */
__u32 kern_table_pages(__u32 nwords);
/* What tells tables apart: fills head->digest. */
void kern_table_digest(const struct automaton *a, struct bh_policy *head);
/* The table that stands in this place, or -errno: -ENOENT when none does. */
int kern_table_open(struct kern *kern, __u32 index);
/* A descriptor of the table with a's words: of one that stands already, else of a new one, frozen.
 * -EDQUOT when the host's tables would exceed BH_MAX_HOST_PAGES, or -errno. */
int kern_table_get(struct kern *kern, const struct automaton *a, const struct bh_policy *head);
/* --- egress.c --- */
/* Attaches a program to a cgroup (a descriptor of it), pinned at `path`; one that is pinned there is let stand. */
int kern_cgroup_link(struct kern *kern, enum kern_prog prog, int cgroup_fd, int attach_type,
		     const char *path);
/* --- ports.c --- */
/* Forgets which ports a generation names. */
void kern_ports_forget(struct kern *kern, __u32 generation);
/* --- pins.c --- */
/* Forgets what a generation denies, and files and names that no other generation speaks of. */
void kern_pins_forget(struct kern *kern, __u32 generation);
/* Forgets which links were made inside a compartment. */
void kern_made_forget(struct kern *kern, __u64 serial);

/* --- iterate.c --- */
/* Superblocks that no mount table lists but every task meets: pipes. */
int kern_superblocks_fixed(struct kern *kern, struct error *error);

#endif
