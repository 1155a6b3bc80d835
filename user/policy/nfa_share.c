// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Equal tails of the trie made one: nodes of one symbol, one verdict and the same children. Of ten
 * thousand paths this leaves about the states that the minimal automaton will have; without it,
 * each tree a rule gives away would have a copy of all that stands below any directory.
 */
#include "nfa.h"

#include <stdlib.h>
#include <string.h>
#include "grow.h"
#include "hash.h"

struct sharing {
	struct nfa *nfa;
	__u32 *same; /* by node: the one that stands for it */
	struct hash_index index;
};

static void sharing_done(struct sharing *sharing)
{
	free(sharing->same);
	hash_done(&sharing->index);
}

/* Puts what stands for a node's children in its list, in order of their numbers. */
static int settle_children(struct sharing *sharing, __u32 node, struct nodes *children)
{
	struct nfa *nfa = sharing->nfa;
	__u32 edge;
	size_t i = 0;

	children->n = 0;
	for (edge = nfa->nodes[node].edge; edge; edge = nfa->edges[edge].next) {
		if (nodes_push(children, sharing->same[nfa->edges[edge].child]) < 0)
			return -ENOMEM;
	}
	nodes_sort(children);
	for (edge = nfa->nodes[node].edge; edge; edge = nfa->edges[edge].next)
		nfa->edges[edge].child = children->items[i++];
	return 0;
}

static __u64 hash_node(const struct nfa *nfa, const struct nfa_node *node)
{
	__u64 hash = hash_mix(node->symbol, node->links);
	__u32 edge;
	size_t i;

	for (i = 0; i < RULE_EFFECTS; i++)
		hash = hash_mix(hash, node->says[i]);
	for (edge = node->edge; edge; edge = nfa->edges[edge].next)
		hash = hash_mix(hash, nfa->edges[edge].child);
	return hash;
}

static bool is_same(const struct nfa *nfa, const struct nfa_node *a, const struct nfa_node *b)
{
	__u32 x = a->edge, y = b->edge;

	if (a->symbol != b->symbol || a->links != b->links ||
	    memcmp(a->says, b->says, sizeof(a->says)) != 0)
		return false;
	for (; x && y && nfa->edges[x].child == nfa->edges[y].child; x = nfa->edges[x].next)
		y = nfa->edges[y].next;
	return !x && !y;
}

/* The first node that is the same as this one. */
static int find_same(struct sharing *sharing, __u32 node)
{
	struct nfa *nfa = sharing->nfa;
	__u64 hash = hash_node(nfa, &nfa->nodes[node]);
	__u32 other;
	size_t at;

	if (hash_reserve(&sharing->index) < 0)
		return -ENOMEM;
	for (at = hash_begin(&sharing->index, hash);
	     hash_next(&sharing->index, hash, &at, &other);) {
		if (is_same(nfa, &nfa->nodes[other], &nfa->nodes[node])) {
			nfa_disown(nfa, other, nfa->nodes[node].rule);
			sharing->same[node] = other;
			return 0;
		}
	}
	hash_put(&sharing->index, hash, at, node);
	sharing->same[node] = node;
	return 0;
}

int nfa_share(struct nfa *nfa)
{
	_cleanup_(sharing_done) struct sharing sharing = {
		.nfa = nfa,
		.same = calloc(nfa->nnodes, sizeof(__u32)),
	};
	_cleanup_(nodes_done) struct nodes children = {0};
	__u32 node;

	if (!sharing.same)
		return -ENOMEM;
	/* Children have higher numbers than their parents, so they are settled before. */
	for (node = (__u32)nfa->nnodes; node--;) {
		if (settle_children(&sharing, node, &children) < 0)
			return -ENOMEM;
		/* An NFA_LOOP is found by its NFA_DEEP's number. */
		if (nfa->nodes[node].symbol != NFA_LOOP && find_same(&sharing, node) < 0)
			return -ENOMEM;
	}
	return 0;
}
