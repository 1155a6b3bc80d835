/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The nondeterministic automaton made deterministic, and then minimal. Edges to the dead state are
 * left out: most states of a set of paths have one or two ways on. Internal to the policy layer.
 */
#ifndef POLICY_DFA_H
#define POLICY_DFA_H

#include "nfa.h"

struct dfa_edge {
	__u32 tail, label, head; /* state, byte class, state */
};

/* State 0 is dead: no verdict, no way on. */
struct dfa {
	__u32 *verdicts; /* nfa_verdict of each state */
	size_t nstates, states_size;
	struct dfa_edge *edges;
	size_t nedges, edges_size;
	size_t nclasses;
	__u8 classes[256];	     /* byte -> class */
	__u8 byte_of[256];	     /* class -> one byte of it */
	struct byte_set *class_sets; /* the classes of nfa.sets */
};

/*
 * Every state reachable from the start sets; ret_starts[i] is the state of starts[i]. 0, -ENOMEM,
 * or -E2BIG past BH_MAX_DFA_EDGES or BH_MAX_DFA_NODES. The caller calls dfa_done in every case.
 */
int dfa_build(struct dfa *dfa, struct nfa *nfa, const struct nodes *starts, size_t nstarts,
	      __u32 *ret_starts);
void dfa_done(struct dfa *dfa);

/*
 * Blocks of states that no path tells apart: ret_block[state] is its number, dense, in order of the
 * block's first state; block 0 is the dead one. Edges that lead to no verdict are dropped from
 * `dfa` on the way. 0 or -ENOMEM.
 */
int dfa_minimise(struct dfa *dfa, __u32 *ret_block, size_t *ret_nblocks);

#endif
