/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Every bound of the system, its reason, and what happens at the bound. */
#ifndef BULKHEAD_LIMITS_H
#define BULKHEAD_LIMITS_H

/* Path components walked. PATH_MAX / 2: a longer chain cannot be named by one system call. At the
 * bound: refused, UNSURE_PATH. */
#define BH_MAX_DEPTH 2048
/* Bytes of a path, PATH_MAX less its NUL. At the bound: refused, UNSURE_PATH. */
#define BH_MAX_PATH 4095
/* Bytes of one name: the kernel's NAME_MAX. */
#define BH_MAX_NAME 255
/* Bytes the automaton takes per loop step: the verifier walks the step in full, so a larger step
 * costs verification in every program and a smaller one costs calls. */
#define BH_CHUNK 8
/* Words of a table's page, a power of two: the kernel programs hold one page at a time and index it
 * without a call. At least 64 rows of 257 words; each policy takes whole pages (64 KiB) of memory. */
#define BH_PAGE_WORDS (16u << 10)
/* Scratch slots a CPU: a decider can be preempted by another one, on each preemption depth one slot
 * is in use. At the bound: refused, UNSURE_SLOT. */
#define BH_SLOTS 8
/* Tries of one walk against concurrent renames. At the bound: refused, UNSURE_RACE. */
#define BH_WALK_TRIES 4
/* Generations whose verdicts one inode keeps, a power of two: about 150 bytes beside the kilobyte that the
 * kernel keeps of the inode itself, and given back with it. At the bound: the latest stays. */
#define BH_KNOWN_WAYS 4
/* Places for states of directories, a power of two, each for BH_KNOWN_WAYS generations: 672 KiB. At the
 * bound: the latest stays. */
#define BH_DIRECTORIES 4096
/* Files whose last opening is remembered, a power of two: 64 KiB. At the bound: of two one counts as new. */
#define BH_ASKED 8192
/* Files that are losing one of several names, a power of two: 32 KiB, for what a few processors do at a time.
 * At the bound: of two that lose one at once, one is judged by the name alone that it loses. */
#define BH_LOSING 4096
/* cgroup levels asked: more than a kernel can nest, whose struct cgroup holds a pointer to each of its
 * ancestors and is one kmalloc, of 4 MiB at most. At the bound: refused, UNSURE_DEPTH. */
#define BH_MAX_CGROUP_DEPTH (1u << 19)
/* Compartment ids, 0 not one of them: 1,023 compartments. At the bound: attach and run fail with ENOSPC. */
#define BH_MAX_COMPARTMENTS 1024
/* cgroup roots: one a compartment, and scratch ones of canaries in flight. */
#define BH_MAX_CGROUPS 2048
/* Policy generations alive, a power of two: two a compartment while one replaces the other. */
#define BH_MAX_GENERATIONS 2048
/* Superblocks known. At the bound: the newest stay unknown, so files there are refused. */
#define BH_MAX_SUPERBLOCKS 4096
/* Superblocks that a compartment's own tasks mounted: a sandbox has five or so. At the bound: files on
 * further ones are refused. */
#define BH_MAX_OWN 1024
/* Those of all compartments; none can take them all. */
#define BH_MAX_OWN_ALL 65536
/* Files of one compartment that its members gave more names, as package stores do with each file of a
 * tree; and of all compartments, 80 MiB. At the bound: further ones count as linked outside. */
#define BH_MAX_MADE (1u << 18)
#define BH_MAX_MADE_ALL (1u << 20)
/* Files pinned because a rule denies them by their whole name. At the bound: the denies of the policies
 * in question count as patterns. */
#define BH_MAX_PINS 65536
/* Names that such rules have, with those of directories on their way, and (generation, name) pairs:
 * a compartment has a hundred or so. At the bound: as above. */
#define BH_MAX_PIN_NAMES 16384
#define BH_MAX_PIN_RULES 65536
/* (mount, deny) pairs that are looked at for whether one can concern the other: half a second. At the
 * bound: it can. */
#define BH_MAX_CONCERNS (4u << 20)
/* (generation, superblock) start states. */
#define BH_MAX_STARTS 65536
/* 32-bit words of one policy's table: 32 MiB. At the bound: the policy does not load. */
#define BH_MAX_TABLE_WORDS (8u << 20)
/* Pages of all tables of a host, 64 KiB each: 256 MiB, eight of the largest. Generations with equal
 * tables share one. At the bound: attach, run and reload fail. */
#define BH_MAX_HOST_PAGES 4096u
/* Edges of one policy's automaton before it is minimised, and nodes in its sets: about 250 MiB of
 * the compiler's memory and three seconds of its time. At the bound: the policy does not load. */
#define BH_MAX_DFA_EDGES (4u << 20)
#define BH_MAX_DFA_NODES (16u << 20)
/* Names that wildcards of one compartment may come to stand for: a provider's storage has hundreds. About
 * 100 bytes each. At the bound: further ones are refused. */
#define BH_MAX_WILDCARD_NAMES 4096
/* Destinations that one policy lists: a provider has ten or so. At the bound: the policy does not load. */
#define BH_MAX_DESTINATIONS 256
/* Bytes of what a policy says is sent to one: two lines of a terminal, which who attaches it has to read. At
 * the bound: the policy does not load. */
#define BH_MAX_DISCLOSES 160
/* (compartment, network namespace) pairs that have a way out: two or so a compartment. At the bound: a further
 * one has none. */
#define BH_MAX_OUTLETS 4096
/* Connections on their way to the relay, which takes them within milliseconds. At the bound: the oldest ones make
 * room, and the relay resets what it cannot find. */
#define BH_MAX_FLOWS 65536
/* Ports that one policy names to listen at, an address each: a provider has one or two. At the bound: the policy does
 * not load. */
#define BH_MAX_LISTEN 64
/* And of all generations: two of 500 compartments that name all they may. At the bound: attach, run and reload fail. */
#define BH_MAX_PORTS 65536
/* Rows of the relay's fence for one family, and resolvers (twice: TCP and UDP): the table has 60, an operator names
 * eight of each. At the bound: the relay does not start. */
#define BH_MAX_FENCE 128
#define BH_MAX_RESOLVERS 32
/* Bytes of one policy file: an inventory of 10,000 paths is one MiB. At the bound: it does not load.
 */
#define BH_MAX_POLICY_BYTES (4u << 20)
/* Rules of one policy, includes counted: an image's inventory is 10,000. At the bound: it does not
 * load. */
#define BH_MAX_RULES 16384
/* Bytes of a glob as it is written: four (\xNN) for each of the longest path. At the bound: the
 * policy does not load. */
#define BH_MAX_GLOB 16384
/* Globs that one glob's {a,b} stand for, and how deep braces nest: a page of names, and what a
 * person can still read. At the bound: the policy does not load. */
#define BH_MAX_BRANCHES 1024
#define BH_MAX_BRACE_DEPTH 8
/* Globs of one policy, braces written out, and nodes of their trie: about 100 MiB. Four for each rule
 * there may be. At the bound: the policy does not load. */
#define BH_MAX_GLOBS 65536
#define BH_MAX_NFA_NODES (4u << 20)
/* Pairs of globs looked at for rules that say nothing: half a second. At the bound: the others are
 * not looked at; such a rule is a mistake, not a danger. */
#define BH_MAX_REVIEW (4u << 20)
/* Different [...] of one policy: each can split the classes of bytes, and is compared with each. At
 * the bound: the policy does not load. */
#define BH_MAX_SETS 1024
/* Entries of a policy's environment: pass and set, each; more are a mistake. At the bound: it does not load. */
#define BH_MAX_ENVIRONMENT 256
/* Policy files one policy may be made of, and how deep they include each other. At the bound: it
 * does not load. */
#define BH_MAX_INCLUDES 64
#define BH_MAX_INCLUDE_DEPTH 8
/* Symbolic links followed for one rule's head: the kernel's MAXSYMLINKS. At the bound: the policy
 * does not load. */
#define BH_MAX_SYMLINKS 40
/* Bytes of the event ring: about 20,000 usual events. At the bound: the event is lost and counted,
 * the verdict stands. */
#define BH_RING_BYTES (4u << 20)
/* Kinds of refusals that are remembered, of all compartments, a power of two: 1.5 MiB. At the bound: of two whose place is
 * the same the latest stays, and each is reported again. */
#define BH_FOLDS 4096
/* Bytes of an object's name that can be compared. At the bound: each refusal is reported. */
#define BH_FOLD_TAIL 256
/* Milliseconds for which the same refusal is only counted after it was reported. */
#define BH_FOLD_MS 1000
/* Open files that compartments may not use any more: what a few hundred processes hold. At the bound:
 * attach fails. */
#define BH_MAX_REVOKED 16384
/* Compartments that one open file is revoked for: they inherited it from one process. At the bound:
 * attach fails. */
#define BH_MAX_REVOKERS 4
/* Milliseconds until a program whose link went can be attached again: a worker of the kernel's takes it off.
 * At the bound: attach fails. */
#define BH_UNLINK_MS 2000
/* Milliseconds to freeze a subtree. A process blocked on its own userfaultfd never freezes. */
#define BH_FREEZE_MS 2000
/* cgroups and processes of one subtree: a busy container host has hundreds and thousands. At the
 * bound: attach fails. */
#define BH_MAX_SUBTREE_CGROUPS 4096
#define BH_MAX_SUBTREE_PIDS 65536
/* Mounts of one view and bytes of their tables: fs.mount-max is 100,000 a namespace, hosts with
 * many containers have thousands. At the bound: attach and reload fail. */
#define BH_MAX_MOUNTS 32768
#define BH_MAX_MOUNT_BYTES (16u << 20)
/* Milliseconds to judge what a frozen subtree holds. At the bound: attach fails, the subtree thaws.
 */
#define BH_INVENTORY_MS 10000
/* Lines of a report. At the bound: "and N more". */
#define BH_MAX_REPORT_LINES 64
/* Bytes of one record under KERN_RUN_DIR. */
#define BH_MAX_RECORD_BYTES (64u << 10)
/* Of these, lines about what was revoked: 2 KiB each at most, as they are written. At the bound: the
 * others are in the report of the attach alone. */
#define BH_MAX_RECORD_LINES 16
/* And the programs that run what they are given: as JSON, some fifty of them. At the bound: "and N more", which
 * bulkhead check lists. */
#define BH_MAX_RECORD_AUTHORITY (8u << 10)
/* Compartment and policy names, NUL included. */
#define BH_NAME_SIZE 64

#endif
