/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The nondeterministic automaton made deterministic, and then minimal. An edge stands for all
 * classes of bytes that lead from one state to another, and those to the dead state are left out:
 * most states of a set of paths have one or two. Internal to the policy layer.
 */
#ifndef POLICY_DFA_H
#define POLICY_DFA_H

#include "nfa.h"

struct dfa_edge {
	__u32 tail, head; /* states */
	__u32 labels;	  /* its byte classes, in dfa.labels */
};

/* The sets of nodes that the states are: that of s is pool[begin[s]]..pool[begin[s + 1] - 1]. */
struct dfa_sets {
	__u32 *pool;
	size_t used, pool_size;
	size_t *begin;
	size_t begin_size;
};

/* State 0 is dead: no verdict, no way on. */
struct dfa {
	__u64 *verdicts; /* nfa_verdict of each state */
	size_t nstates, states_size;
	struct dfa_sets sets;
	struct dfa_edge *edges;
	size_t nedges, edges_size;
	struct byte_set *labels;
	size_t nlabels, labels_size;
	size_t nclasses;
	__u8 classes[256];	     /* byte -> class */
	__u8 byte_of[256];	     /* class -> one byte of it */
	struct byte_set all;	     /* classes */
	struct byte_set *class_sets; /* the classes of nfa.sets */
};

/*
 * Every state reachable from the start sets; ret_starts[i] is the state of starts[i]. 0, -ENOMEM,
 * or -E2BIG past BH_MAX_DFA_EDGES or BH_MAX_DFA_NODES: then `dfa` has what was found until then. The
 * caller calls dfa_done in every case.
 */
int dfa_build(struct dfa *dfa, struct nfa *nfa, const struct nodes *starts, size_t nstarts,
	      __u32 *ret_starts);
void dfa_done(struct dfa *dfa);

/*
 * Blocks of states that no path tells apart: ret_block[state] is its number, dense, in order of the
 * block's first state; block 0 is the dead one and every state that leads to no verdict. 0 or
 * -ENOMEM.
 */
int dfa_minimise(const struct dfa *dfa, __u32 *ret_block, size_t *ret_nblocks);

/* table.c: fills in the automaton's words and head but for the start; ret_state[block] is its state
 * there. 0, -ENOMEM, or -E2BIG past BH_MAX_TABLE_WORDS. */
int dfa_table(const struct dfa *dfa, const __u32 *block, size_t nblocks, __u32 *ret_state,
	      struct automaton *automaton);

/*
 * blame.c: sets the error for a table that is too large, naming the rules that multiply it; `block`
 * as dfa_minimise gave it, or NULL. -E2BIG or -ENOMEM.
 */
int blame_rules(const struct dfa *dfa, const struct nfa *nfa, const __u32 *block,
		const struct rule *rules, size_t nrules, struct error *error);

#endif
