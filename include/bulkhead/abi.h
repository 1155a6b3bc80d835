/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What kernel programs and user space agree on: labels, map keys and values, events.
 * No libc, no pointers, fixed widths. Zero is the strictest value of every field.
 * Labels live as long as processes do, and pins as long as the host: a layout, once shipped, is
 * never changed; pins stand in a directory named by BH_ABI.
 */
#ifndef BULKHEAD_ABI_H
#define BULKHEAD_ABI_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif
#include "hooks.h"
#include "limits.h"

#define BH_ABI 1

/* Rights. A verdict mask holds one bit each. */
#define BH_PERMS(X)                    \
	X(READ, "read", 0)             \
	X(WRITE, "write", 1)           \
	X(APPEND, "append", 2)         \
	X(CREATE, "create", 3)         \
	X(DELETE, "delete", 4)         \
	X(EXEC, "exec", 5)             \
	X(INTERP, "interp", 6)         \
	X(MAP_EXEC, "map-exec", 7)     \
	X(ATTRIBUTES, "attributes", 8) \
	X(LINK, "link", 9)             \
	X(IOCTL, "ioctl", 10)          \
	X(CONNECT, "connect", 11)      \
	X(JIT, "jit", 12)

#define BH_PERM_ENUM_(name, text, bit) BH_PERM_##name = 1 << (bit),
enum bh_perm { BH_PERMS(BH_PERM_ENUM_) BH_PERM_ALL = (1 << 13) - 1 };
#undef BH_PERM_ENUM_

/* Beside them in rules, and in no verdict: what the rule speaks of runs, though it may have been written
 * inside. */
#define BH_RULE_WRITTEN_INSIDE (1 << 13)

/* What is done to a name; every other right is to what the name leads to. */
#define BH_PERM_NAMES (BH_PERM_CREATE | BH_PERM_DELETE | BH_PERM_LINK)
#define BH_PERM_CONTENTS (BH_PERM_ALL & ~BH_PERM_NAMES)

/*
 * No right, but a fact that stands beside them. In an allow mask: all that is allowed of the contents is
 * allowed by rules that name this file alone, or say hardlinks: allow. In a quiet mask: the name may be
 * deleted, and a rule denies contents.
 */
#define BH_PERM_LINKS (1 << 14)

/* Task label: identity of a confined task, in task storage, inherited by every child. */
enum bh_label_flag {
	BH_LABEL_ASK = 1 << 0,	   /* membership unknown here: ask the cgroup */
	BH_LABEL_JIT = 1 << 1,	   /* the running program may have writable and executable memory */
	BH_LABEL_PHASE = 1 << 2,   /* set once the install phase is over (not used yet) */
	BH_LABEL_REVOKED = 1 << 3, /* not used: what is revoked is told by the open file */
	BH_LABEL_PENDING =
		1 << 4, /* the service manager's own child, unjudged until its first exec */
};

struct bh_label {
	__u32 abi;
	__u32 compartment; /* 0: none, only with BH_LABEL_ASK or after it was answered */
	__u16 member;	   /* 0: the compartment's own policy */
	__u16 flags;
	__u32 pad;
	__u64 deadline_ns; /* CLOCK_MONOTONIC; 0: none (not used yet) */
	__u64 exec_seq;	   /* execs since enrolment on this line of descent */
	__u8 reserved[32];
};

/* Compartment entry, keyed by compartment id (1..BH_MAX_COMPARTMENTS - 1). */
enum bh_state {
	BH_STATE_CLOSED, /* refuse everything: the strictest, and what a half-written entry is */
	BH_STATE_ARMED,	 /* enrolment in progress: labels spread, nothing is judged yet */
	BH_STATE_ENFORCED,
	BH_STATE_RELEASED, /* detached: labels remain, their tasks are outsiders */
	BH_STATE_TRIPPED,  /* a tripwire was touched: whoever comes to a hook is killed */
};

enum bh_mode { BH_MODE_ENFORCE, BH_MODE_AUDIT };

struct bh_compartment {
	__u32 state;
	__u32 generation; /* key of bh_policies, bh_tables and half the key of bh_starts */
	__u32 phase;
	__u32 mode;
	__u64 deadline_ns;
	__u32 tally; /* index in bh_tally; index 0 is "no compartment known" */
	__u32 relay;
	__u64 serial; /* never given twice, unlike the id: what sockets are marked with */
	__u64 reserved[3];
};

/* cgroup entry, keyed by cgroup id: the root of a compartment's subtree. */
enum bh_cgroup_flag {
	BH_CGROUP_STARTING = 1 << 0, /* a unit's: the manager's child is PENDING */
};

struct bh_cgroup {
	__u32 compartment;
	__u32 flags;
};

/* One policy generation. The table is an array of words in pages of BH_PAGE_WORDS, a row of nclasses
 * + BH_ROW_EXTRA words a state, none across the edge of a page; a state's number is the index of its
 * first word: nclasses next states, then the masks. NUL has a class alone, that leads every state to
 * itself: what is matched may be filled up with NULs. */
#define BH_ROW_EXTRA 2
#define BH_STATE_DEAD 0 /* no right, and no way out */
/* word nclasses:     allow mask (low 16), quiet mask (high 16)
 * word nclasses + 1: audit mask (low 16), tripwire mask (high 16)
 * Audited rights are allowed ones; quiet ones and tripwires are not. */

struct bh_masks {
	__u32 allow, quiet, audit, tripwire;
};

enum bh_policy_flag {
	BH_POLICY_PROC_SELF =
		1 << 0, /* /proc/PID of the own thread group is judged as /proc/self */
	BH_POLICY_NESTED =
		1 << 1, /* namespaces, and mounts in them: sandboxes inside the compartment */
	BH_POLICY_PROC_PEERS = 1 << 2, /* with PROC_SELF: that of every member, too */
	BH_POLICY_APPEND =
		1 << 3, /* a name may be appended to and not written; filled in by kern */
	BH_POLICY_EGRESS = 1 << 4,   /* TCP and UDP sockets, whose destinations the outlets are */
	BH_POLICY_LOOPBACK = 1 << 5, /* and what members listen on at loopback */
	BH_POLICY_LISTEN = 1 << 6,   /* ports are named (bh_ports) that members listen at */
};
#define BH_POLICY_INET (BH_POLICY_EGRESS | BH_POLICY_LOOPBACK | BH_POLICY_LISTEN)

/* Files that rules deny by their whole name are pinned (bh_pins). While not all of them are, such rules
 * count as patterns do: older hard links of any file are refused. */
enum bh_loose {
	BH_PINNED,
	BH_LOOSE,      /* a directory on the way to such a file is another one now: pin anew */
	BH_UNPINNABLE, /* they could not be pinned, and pinning them anew is no help */
};

struct bh_page {
	__u32 words[BH_PAGE_WORDS];
};

/* Where a generation stands in the arrays of policies and tables. Its place is taken again 2048
 * generations later, and what stands in it is not changed before: deciders may be under way in it. */
#define BH_GENERATION_INDEX(generation) ((generation) & (BH_MAX_GENERATIONS - 1))

struct bh_policy {
	__u32 generation; /* 0: none stands here (any more) */
	__u32 nclasses;
	__u32 nwords; /* words in the table */
	__u32 start;  /* state before the first byte of an absolute path or "@abstract" name */
	__u32 flags;
	__u32 loose;	   /* enum bh_loose; written by kernel programs too */
	__u64 caps;	   /* capability bits that stay */
	__u8 classes[256]; /* byte -> class, < nclasses */
	__u8 digest[32];   /* SHA-256 of the table's words, for user space: equal ones stand once */
};

/* Superblock entry, keyed by the superblock's address. */
enum bh_sb_class {
	BH_SB_UNKNOWN,
	BH_SB_PLAIN,  /* judged by path */
	BH_SB_PROC,   /* judged by path, /proc/PID of others never */
	BH_SB_CGROUP, /* judged by path for reading; never written */
	BH_SB_BPF,    /* never opened */
	BH_SB_PIPE,   /* nameless objects a task can hold only if it was given them: free */
	BH_SB_OWN,    /* mounted inside: judged by its kind, no rule speaks of it */
	BH_SB_DEBUG,  /* the kernel's own insides: never opened; rules only keep quiet about it */
};

/* Stands in starts for every procfs that was mounted inside: judged as /proc. */
#define BH_SBID_OWN_PROC 0xffffffffu

struct bh_superblock {
	__u32 sbid; /* number given once, never reused while the host runs */
	__u32 class;
};

/* Where a generation's automaton starts on a superblock. */
struct bh_start_key {
	__u32 generation;
	__u32 sbid;
};

struct bh_start {
	__u32 state; /* before the first "/" of the path on the superblock */
	__u32 self;  /* class PROC: state after "/PID" of the own thread group, 0 else */
	/* Rights to contents that rules deny of files that may stand here: by pattern, by whole name. */
	__u32 patterns, literals;
};

/* A file, whatever it is called: it can be evicted from memory and read again. */
struct bh_inode {
	__u32 sbid;
	__u32 generation; /* the filesystem's: inode numbers are used again */
	__u64 ino;
};

/* The inside of a file's links: of a compartment, by whose members every name but the first was given. */
struct bh_made {
	__u64 serial;
	__u32 tally;
	__u32 pad;
};

/* A name in a directory that rules deny something of, or that is on the way to one. */
struct bh_pin_name {
	struct bh_inode directory;
	__u8 name[BH_MAX_NAME + 1]; /* filled up with NULs */
};

/* What a generation denies of the files that stand at a name. */
struct bh_pin_rule {
	__u32 generation; /* the policy's */
	__u32 pin;	  /* number of the name */
};

/* In place of a number: the file stands, or stood, at several such names. */
#define BH_PIN_SEVERAL 0xffffffffu

/*
 * The way out of a compartment in one network namespace: loopback ports, at which the stub answers queries and the
 * relay takes connections. Whatever members send to port 53 goes to the stub, TCP to a synthetic address to the
 * relay, everything else nowhere. Without an entry there is no way out.
 */
struct bh_outlet_key {
	__u64 netns; /* cookie of the network namespace */
	__u32 compartment;
	__u32 pad;
};

struct bh_outlet {
	__u64 serial;		  /* of the compartment: of another one the entry says nothing */
	__u32 synthetic, netmask; /* the range that stands for names, network byte order */
	__u16 relay;		  /* TCP, 127.0.0.1; host byte order, as the others; 0: none */
	__u16 stub4, stub6;	  /* UDP, 127.0.0.1 and ::1 */
	__u16 pad;
	__u64 reserved;
};

/* On each socket behind an outlet: whose it is. */
struct bh_outlet_mark {
	__u64 serial;
	__u32 compartment;
	__u32 pad;
};

/* A connection that the relay takes, by both ends of it: written before its first segment leaves, gone when nobody
 * answered that, or the relay took it. The client's address is one of the loopback device, the relay's 127.0.0.1. Two
 * compartments' clients may have the same address and port at a time: their relays' ports tell them apart. */
struct bh_flow_key {
	__u64 netns;   /* cookie */
	__u32 address; /* network byte order */
	__u16 port;    /* host byte order */
	__u16 relay;   /* the relay's, host byte order */
};

struct bh_flow {
	__u64 serial; /* of the compartment */
	__u64 socket; /* cookie of the client's */
	__u32 compartment;
	__u32 address; /* where the client wanted to go; network byte order; port 53: 0 for IPv6 */
	__u16 port;    /* host byte order */
	__u16 member;
	__u32 pad;
};

/* A TCP port that a policy lets members listen at. */
struct bh_port {
	__u32 address[4]; /* IPv4 mapped; network byte order; all 0: every address, and none */
	__u32 generation; /* the policy's */
	__u16 port;	  /* host byte order */
	__u16 pad;
};

/* The relay's fence: the table of addresses, by the longest prefix. Network byte order. */
enum bh_fence {
	BH_FENCE_CLOSED,
	BH_FENCE_PUBLIC,
	BH_FENCE_NAT64, /* the last four bytes are an address of IPv4, which has to be public */
};

struct bh_fence_key4 {
	__u32 length; /* in bits, host byte order, as the kernel's tries have it */
	__u32 address;
};

struct bh_fence_key6 {
	__u32 length;
	__u32 address[4];
};

/* Where the relay asks for names. */
struct bh_resolver {
	__u32 address[4]; /* IPv4 mapped; network byte order */
	__u32 port;	  /* host byte order */
	__u32 protocol;
};

/* What became of a hook's refusals, and of what it noted; together they are bh_tally.hook. */
struct bh_fates {
	__u64 reported, quiet, folded, lost;
};

/* Counters of a compartment. refused + noted = reported + quiet + folded + lost, at any quiet moment, and the same of
 * each hook. */
struct bh_tally {
	__u64 seq;     /* events numbered so far */
	__u64 refused; /* in audit mode: would have been */
	__u64 reported;
	__u64 quiet;
	__u64 lost;
	__u64 unsure;
	__u64 hook[BH_HOOK_COUNT];
	__u64 noted;   /* moves across the edge, what audit rules report: told, not refused */
	__u64 tripped; /* tripwires touched; written before the entry's state */
	__u64 own;     /* superblocks mounted inside that live */
	__u64 made;    /* entries in bh_made */
	__u64 strayed; /* packets of members' sockets that went elsewhere than they were judged: dropped */
	__u64 strangers; /* packets to its outlets that were no member's: dropped */
	__u64 folded;	 /* the same as one that was reported a moment ago */
	__u64 reserved[1];
	struct bh_fates fates[BH_HOOK_COUNT];
};

enum bh_event_bit {
	BH_EVENT_QUIET = 1 << 0,
	BH_EVENT_AUDIT = 1 << 1, /* not refused: audit mode, an audit rule */
	BH_EVENT_TRIPWIRE = 1 << 2,
	BH_EVENT_REPEATED = 1 << 3, /* no further one: says how often event `seq` was repeated */
};

/* What an event is about; `object` and the tail by kind. With BH_REASON_REVOKED, object[4] is one more
 * than the descriptor's number at the attach. */
enum bh_object_kind {
	BH_OBJECT_NONE,
	BH_OBJECT_PATH,	  /* object[0] sbid, [1] class, [2] length; tail: path on the superblock */
	BH_OBJECT_SOCKET, /* [0] family, [1] type, [2] protocol, [3] port; tail: 4 or 16 bytes */
	BH_OBJECT_UNIX,	  /* [2] length; tail: "@name" without its leading NUL */
	BH_OBJECT_TASK,	  /* [0] tgid of the target, [1] signal or ptrace mode */
	BH_OBJECT_NUMBER, /* [0] capability, bpf command, clone flags: as the hook says */
	BH_OBJECT_NAME,	  /* [2] length; tail: a name such as "[io_uring]" */
	BH_OBJECT_CGROUP, /* [0],[1] low and high half of the cgroup id moved to */
};

struct bh_event {
	__u16 abi;
	__u16 size; /* header and tail */
	__u32 compartment;
	__u64 seq; /* per compartment, from 1 */
	__u32 generation;
	__u16 member;
	__u16 hook;
	__u16 reason;
	__u8 plane;
	__u8 bits;
	__s32 error; /* positive errno */
	__u32 perms; /* rights asked for */
	__u32 tgid;
	__u32 tid;
	__u32 repeated; /* times that the same was folded since it was told of last */
	__u64 start_ns; /* thread group leader's start, CLOCK_BOOTTIME */
	__u64 time_ns;	/* CLOCK_MONOTONIC */
	__u64 exec_seq;
	char comm[16]; /* for people; never identity */
	__u32 kind;
	__u32 object[5];
	__u8 tail[];
};

/*
 * The latest event of a kind, and how often the same came since. Of one kind are refusals that would be told in the same
 * words but for their number, thread and time: of one compartment, policy, hook, object and reason, of one process since
 * its last exec. All of it is compared, by no hash.
 *
 * Low half of `word`: repeats that were not told yet. High half: times that the place was written, odd while it is. Who
 * counts a repeat exchanges the whole word, so that it is counted of the kind that was compared or not at all.
 */
struct bh_fold {
	__u64 word;
	__u64 exec;	       /* execs of the process */
	struct bh_event event; /* time_ns 0: it was lost */
	__u8 tail[BH_FOLD_TAIL];
};

/* Of the verdicts that are known: whether they are used, and what outdates all of them. */
struct bh_cache {
	__u64 epoch; /* directories moved, by whomever */
	__u32 on;    /* written by user space, once the programs that keep it true are attached */
	__u32 pad;
};

/* An open file that members may not use, keyed by its address: it was open before the policy. */
struct bh_revoked {
	__u64 serials[BH_MAX_REVOKERS]; /* of the compartments; 0: none */
	__u32 fd;			/* the first descriptor that was found, for people */
	__u32 pad;
};

/* The pinned set's own record, of user space alone. */
struct bh_meta {
	__u32 abi;
	__u32 next_generation;
	__u32 next_sbid;
	__u32 links; /* pinned with the set; not all are of a hook that has a row of its own */
	__u64 last_serial;
	__u64 last_pin;
	__u8 digest[32]; /* SHA-256 of the object that the programs came from */
};

/* The question to the iterator over tasks; it answers with a struct bh_task for each that matches. */
struct bh_task_query {
	__u64 cgroup_id;   /* subtree asked; 0: none */
	__u32 compartment; /* also tasks bearing this label, wherever they are; 0: none */
	__u32 label;	 /* not 0: label those of the subtree that bear none that means something */
	__u32 set_flags; /* for threads of `tgid` bearing the label */
	__u32 tgid;	 /* 0: no flags change */
};

/* Beside the flags of the label: it is no descriptor's, but the thread's own. */
#define BH_TASK_RING (1u << 16)

struct bh_task {
	__u32 tid, tgid;
	__u32 compartment; /* of its label; 0: none */
	__u32 flags;	   /* of its label, and BH_TASK_RING */
	__u32 inside;	   /* not 0: stands in the asked subtree now */
};

/* The answer of the iterator over a process's descriptors. */
struct bh_file {
	__u64 file;	  /* address */
	__u64 superblock; /* address */
	__u64 magic;
	__u64 ino;
	__u32 generation; /* of the inode */
	__u32 fd;
	__u32 tid;     /* whose table it is in */
	char type[20]; /* of the filesystem, cut */
};

#define BH_ASSERT_SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type " layout")
BH_ASSERT_SIZE(struct bh_label, 64);
BH_ASSERT_SIZE(struct bh_compartment, 64);
BH_ASSERT_SIZE(struct bh_cgroup, 8);
BH_ASSERT_SIZE(struct bh_policy, 320);
BH_ASSERT_SIZE(struct bh_superblock, 8);
BH_ASSERT_SIZE(struct bh_start, 16);
BH_ASSERT_SIZE(struct bh_inode, 16);
BH_ASSERT_SIZE(struct bh_made, 16);
BH_ASSERT_SIZE(struct bh_pin_name, 272);
BH_ASSERT_SIZE(struct bh_outlet_key, 16);
BH_ASSERT_SIZE(struct bh_outlet, 32);
BH_ASSERT_SIZE(struct bh_outlet_mark, 16);
BH_ASSERT_SIZE(struct bh_flow_key, 16);
BH_ASSERT_SIZE(struct bh_flow, 32);
BH_ASSERT_SIZE(struct bh_port, 24);
BH_ASSERT_SIZE(struct bh_event, 112);
BH_ASSERT_SIZE(struct bh_fold, 384);
BH_ASSERT_SIZE(struct bh_cache, 16);
BH_ASSERT_SIZE(struct bh_meta, 64);
BH_ASSERT_SIZE(struct bh_task_query, 24);
BH_ASSERT_SIZE(struct bh_task, 20);
BH_ASSERT_SIZE(struct bh_file, 64);
BH_ASSERT_SIZE(struct bh_revoked, 40);
_Static_assert(BH_REASON_COUNT < 65536 && BH_HOOK_COUNT < 65536, "event fields");

#endif
