/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rules and bind mounts as one nondeterministic automaton: a trie of glob symbols, so rules with a
 * common head share its nodes, whose equal tails are then shared too. A node stands for "its symbol
 * was read"; nodes are numbers, valid as long as the automaton. Internal to the policy layer.
 */
#ifndef POLICY_NFA_H
#define POLICY_NFA_H

#include "automaton.h"
#include "byteset.h"

/* A node by the symbol that leads to it: a byte, or one of these. */
enum nfa_symbol {
	NFA_STAR = 256, /* "*": reached without reading, reads any byte but '/' and stays */
	NFA_DEEP,	/* "/" "**", read to its end or skipped */
	NFA_LOOP, /* inside a "/" "**": stays on any byte; its number is one above its NFA_DEEP */
	NFA_ROOT, /* before the first byte */
	NFA_SET,  /* "?" or [...]: this and above, a number in nfa.sets */
};

/* Growing list of node numbers; a state of the deterministic automaton when sorted. */
struct nodes {
	__u32 *items;
	size_t n, size;
};

void nodes_done(struct nodes *nodes);
int nodes_push(struct nodes *nodes, __u32 node);
void nodes_sort(struct nodes *nodes);

/* What stands at the end of a bind mount's root: the nodes after its mount point was read. */
struct nfa_bind {
	struct nodes at_point;
	__u32 next; /* in nfa.binds, 0: none */
};

/* A list of children. */
struct nfa_edge {
	__u32 child;
	__u32 next; /* in nfa.edges, 0: none */
};

struct nfa_node {
	__u32 edge;  /* the first in nfa.edges, 0: no child */
	__u32 bind;  /* in nfa.binds, 0: none */
	__u32 stamp; /* of the last set it was added to */
	__u32 rule;  /* the only one it stands for, from 1; 0: several or none */
	__u16 symbol;
	__u16 says[RULE_EFFECTS]; /* rights, by effect */
	__u16 links;		  /* those allowed that hold for older hard links */
};

struct nfa {
	struct nfa_node *nodes; /* [0] is the rules' root, nobody's child */
	size_t nnodes, nodes_size;
	struct nfa_edge *edges; /* [0] is none: all zero */
	size_t nedges, edges_size;
	struct nfa_bind *binds; /* [0] is unused */
	size_t nbinds, binds_size;
	struct byte_set *sets;
	size_t nsets, sets_size;
	struct byte_set literal; /* bytes that some symbol names */
	__u32 stamp;
	__u32 rule; /* whose nodes are made now, from 1; 0: none's */
};

/* Every function: 0 or -ENOMEM; nfa_init also -E2BIG past BH_MAX_SETS or BH_MAX_NFA_NODES,
 * nfa.rule being the rule that was too much. The caller calls nfa_done in every case. */
int nfa_init(struct nfa *nfa, const struct rule *rules, size_t nrules);
void nfa_done(struct nfa *nfa);

/*
 * Adds to `start` what a mount of one superblock contributes to the state before the first byte of
 * a path there. *root is the superblock's own root node, NFA_NO_ROOT until a bind needed one.
 */
#define NFA_NO_ROOT 0
int nfa_add_mount(struct nfa *nfa, const struct mount_view *mount, __u32 *root,
		  struct nodes *start);

/* The node stands for this rule too: if that is another one than before, for none alone. */
void nfa_disown(struct nfa *nfa, __u32 node, __u32 rule);
/* nfa_share.c: makes one node of those from which the same is read on and decided; only before
 * mounts are added. */
int nfa_share(struct nfa *nfa);

/* Empties `to` and fills it with what is reached from the rules' root before any byte. */
int nfa_start(struct nfa *nfa, struct nodes *to);
/* Empties `to` and fills it with what `from` reaches by `byte`, sorted. */
int nfa_step(struct nfa *nfa, const struct nodes *from, __u8 byte, struct nodes *to);
/* A state's words, the first one low: struct bh_policy's. 0: it says nothing. */
__u64 nfa_verdict(const struct nfa *nfa, const struct nodes *nodes);

#endif
