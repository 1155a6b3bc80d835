/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Every map. */
#ifndef BULKHEAD_MAPS_BPF_H
#define BULKHEAD_MAPS_BPF_H

#include "bulkhead.bpf.h"

/* Bytes of a slot's path buffer that names are written to, backwards from BH_PATH_END. The margin
 * behind it lets the verifier accept a write of a whole name at any masked position. */
#define BH_PATH_END 4096
#define BH_PATH_MARGIN 256

/* Whether a place may be judged by the state of its directory, which an earlier walk found out. */
enum bh_near {
	BH_NEAR_NO,
	BH_NEAR_MAY,
	BH_NEAR_JUDGED,
};

/* What pass one of a walk saw of a dentry. The low half of an address is enough: it only has to
 * tell that pass two came to the same dentry, whose d_seq is compared beside it. */
struct bh_step {
	__u32 dentry;
	__u32 seq;
};

/* Two names of one file: a link, a rename. What the old name allows is kept beside the new one's.
 */
struct bh_pair {
	__u32 old_allow, old_below;
	__u32 old_perms, new_perms;
	__u32 old_plain; /* BH_PERM_LINKS: older links of the file need no rule for them */
	__u32 sbid;
	__u32 both_ways; /* RENAME_EXCHANGE: each name gets the other's file */
	__u32 dir;	 /* everything below comes along */
};

/*
 * Scratch of one decision, claimed by compare-and-exchange. A per-CPU value is at most 32 KiB.
 *
 * Whatever a walk finds out stands here and not on the stack: the verifier follows every value that
 * a stack slot can have, and two walks in one program would multiply (a million instructions on
 * 7.2); what it reads from a map it takes as unknown.
 */
struct bh_slot {
	__u32 busy;
	/* the walk: dentries passed, position of the path, length of its first component */
	__u32 n, pos, first, done, fault;
	/* the place: reason not 0 = undecided, or refused whatever the rules say */
	__u32 reason;
	struct bh_masks masks;
	__u32 state; /* of the automaton */
	__u32 below; /* of a directory that moves: equal ones judge all that is in it alike */
	__u32 sbid, class;
	__u32 self;	  /* struct bh_start */
	__u32 cursor;	  /* of the matcher in path */
	__u32 odd;	  /* something on the way may be moving, or may move and nobody is told */
	__u32 leaf;	  /* position of the last component */
	__u32 end;	  /* of what the matcher takes */
	__u32 near;	  /* enum bh_near */
	__u32 found;	  /* the walk ended at a directory whose state is known */
	__u32 keeps;	  /* what is found out of the file is kept */
	__u32 perms, any; /* that are asked for */
	__u64 directory;  /* address of the inode that the last component stands in */
	__u64 freed;	  /* struct bh_directory, while it stood there */
	__u64 epoch;	  /* before the walk */
	__u64 superblock; /* its address */
	/* a file with several names (links.bpf.h): rights that are not had by this one, and those of them
	 * that another name is denied; which file */
	__u32 hidden, pinned;
	struct bh_inode inode;
	struct bh_pin_name pin;
	struct bh_pair pair;
	struct bh_step steps[BH_MAX_DEPTH];
	__u8 path[BH_PATH_END + BH_PATH_MARGIN];
	struct bh_event event;
	__u8 tail[BH_PATH_END];
};

/* What an earlier decision found out: see cache.bpf.h. */
struct bh_known_way {
	__u32 seq; /* odd: being written */
	__u32 generation;
	__u64 epoch, moves; /* as they were before the walk */
	__u32 allow;	    /* rights that need not be told of */
	__u32 pad;
};

struct bh_known {
	__u64 moves; /* times that the inode lost a name */
	struct bh_known_way ways[BH_KNOWN_WAYS];
};

/* The state at the end of a directory's path: see cache.bpf.h. */
struct bh_directory_way {
	__u32 seq; /* odd: being written */
	__u32 generation;
	__u64 inode;	    /* its address; 0: none */
	__u64 freed, epoch; /* as they were before the walk */
	__u32 state;
	__u32 pad;
};

struct bh_directory {
	__u64 freed; /* directories' inodes whose place this was */
	struct bh_directory_way ways[BH_KNOWN_WAYS];
};

/* A superblock that a member of a compartment made, keyed by its address. */
struct bh_own {
	__u64 serial; /* of the compartment */
	__u32 tally;
	__u32 pad;
};

/* Where a socket wanted to go that was sent to an outlet: what its peer is called by who asks. */
struct bh_aim {
	__u32 address[4]; /* IPv4 mapped; network byte order, as the port */
	__u16 port;
	__u16 outlet; /* where it was sent; network byte order */
	__u32 pad;
	__u64 serial;
	struct bh_flow_key flow; /* port 0: it is none */
};

/* A socket that was made inside. It can outlive its maker's compartment. */
struct bh_maker {
	__u64 serial; /* of that compartment */
	/* Do the compartment's cgroup programs judge where it leads? They follow the cgroup that a socket is born in,
	 * for good; that is another one when its maker was moved. */
	__u32 born_inside;
	__u32 came;   /* its connection is one that a listener took */
	__u32 device; /* that it was bound to then */
	__u32 pad;
};

/* Links whose every name but the first was given inside. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, BH_MAX_MADE_ALL);
	__type(key, struct bh_inode);
	__type(value, struct bh_made);
} bh_made SEC(".maps");

/* Files that stand at names that rules deny: the number of the name. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, BH_MAX_PINS);
	__type(key, struct bh_inode);
	__type(value, __u32);
} bh_pins SEC(".maps");

/* Directories that have such names, which everybody's links and renames are compared with. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, BH_MAX_PIN_NAMES);
	__type(key, struct bh_inode);
	__type(value, __u32);
} bh_pin_directories SEC(".maps");

/* Number of each name; those of directories on the way have one, too. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, BH_MAX_PIN_NAMES);
	__type(key, struct bh_pin_name);
	__type(value, __u32);
} bh_pin_names SEC(".maps");

/* Rights that a generation denies by that name; 0 of a directory on the way. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, BH_MAX_PIN_RULES);
	__type(key, struct bh_pin_rule);
	__type(value, __u32);
} bh_pin_rules SEC(".maps");

struct bh_table_inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_INNER_MAP); /* tables differ in size */
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct bh_page));
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct bh_label);
} bh_labels SEC(".maps");

/* What a listener accepts has its mark, and its cgroup. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct bh_maker);
} bh_sockets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_INODE_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct bh_known);
} bh_inodes SEC(".maps");

/* Numbers of inodes that were asked for. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BH_ASKED);
	__type(key, __u32);
	__type(value, __u64);
} bh_asked SEC(".maps");

/* Addresses of inodes that lost, or are losing, one of several names. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BH_LOSING);
	__type(key, __u32);
	__type(value, __u64);
} bh_losing SEC(".maps");

/* By a number made of the address of the directory's inode, and the generation. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BH_DIRECTORIES);
	__type(key, __u32);
	__type(value, struct bh_directory);
} bh_directories SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BH_MAX_COMPARTMENTS);
	__type(key, __u32);
	__type(value, struct bh_compartment);
} bh_compartments SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, BH_MAX_CGROUPS);
	__type(key, __u64);
	__type(value, struct bh_cgroup);
} bh_cgroups SEC(".maps");

/* By BH_GENERATION_INDEX, as bh_tables: arrays, because a hash's element is handed out again at once
 * when it is deleted, under the hands of who still walks by it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BH_MAX_GENERATIONS);
	__type(key, __u32);
	__type(value, struct bh_policy);
} bh_policies SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, BH_MAX_GENERATIONS);
	__type(key, __u32);
	__array(values, struct bh_table_inner);
} bh_tables SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, BH_MAX_SUPERBLOCKS);
	__type(key, __u64);
	__type(value, struct bh_superblock);
} bh_superblocks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, BH_MAX_OWN_ALL);
	__type(key, __u64);
	__type(value, struct bh_own);
} bh_own_superblocks SEC(".maps");

/* Filled by user space, of a frozen subtree; an entry goes with its file (bh_re_free). */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, BH_MAX_REVOKED);
	__type(key, __u64);
	__type(value, struct bh_revoked);
} bh_revoked SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, BH_MAX_STARTS);
	__type(key, struct bh_start_key);
	__type(value, struct bh_start);
} bh_starts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BH_MAX_COMPARTMENTS);
	__type(key, __u32);
	__type(value, struct bh_tally);
} bh_tallies SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, BH_RING_BYTES);
} bh_ring SEC(".maps");

/* User space takes repeats that nobody came to tell: it has the map's memory. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, BH_FOLDS);
	__type(key, __u32);
	__type(value, struct bh_fold);
} bh_folds SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, BH_SLOTS);
	__type(key, __u32);
	__type(value, struct bh_slot);
} bh_slots SEC(".maps");

/* Which compartment a cgroup program stands for: its own attachment's storage. The newer
 * CGRP_STORAGE map is not on 6.1. */
struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_STORAGE);
	__type(key, struct bpf_cgroup_storage_key);
	__type(value, __u32);
} bh_egress SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct bh_aim);
} bh_aims SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, BH_MAX_OUTLETS);
	__type(key, struct bh_outlet_key);
	__type(value, struct bh_outlet);
} bh_outlets SEC(".maps");

/* The sockets behind them, marked by user space with their compartment: when the relay is gone its port is anybody's,
 * and no outlet. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct bh_outlet_mark);
} bh_outlet_sockets SEC(".maps");

/* One compartment's clients, who wait as long as they like, must not take the room of all the others: what is oldest
 * makes room. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, BH_MAX_FLOWS);
	__type(key, struct bh_flow_key);
	__type(value, struct bh_flow);
} bh_flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, BH_MAX_PORTS);
	__type(key, struct bh_port);
	__type(value, __u32);
} bh_ports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, BH_MAX_FENCE);
	__type(key, struct bh_fence_key4);
	__type(value, __u32);
} bh_fence4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, BH_MAX_FENCE);
	__type(key, struct bh_fence_key6);
	__type(value, __u32);
} bh_fence6 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, BH_MAX_RESOLVERS);
	__type(key, struct bh_resolver);
	__type(value, __u32);
} bh_resolvers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} bh_fence_refusals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bh_task_query);
} bh_queries SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bh_meta);
} bh_metas SEC(".maps");

/* While not 0, no missing label means "outsider": every hook asks the cgroup. A variable and not a
 * map value, because every hook of every task on the host reads it: two instructions. */
volatile __u32 bh_ask SEC(".data.ask");

/* How long the same refusal is only counted; 0: each is reported. */
volatile __u64 bh_fold_ns SEC(".data.fold");

/* Of what earlier decisions found out. In a section of its own: writing it must not take the line away
 * that every hook reads. */
volatile struct bh_cache bh_cache SEC(".data.cache");

#endif
