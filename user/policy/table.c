// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The minimal automaton as rows of words in pages, as the kernel programs read it (abi.h). */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "dfa.h"
#include "grow.h"

struct table {
	const struct dfa *dfa;
	const __u32 *block; /* by state */
	size_t nblocks, row, rows_a_page, nrows;
	size_t *edges; /* by block: the first edge of its first state; dfa.nedges: none */
	__u32 *state;  /* by block: where its row begins; UINT32_MAX: nowhere yet */
};

static int table_init(struct table *table)
{
	const struct dfa *dfa = table->dfa;
	__u32 past = 0, block;
	size_t i;

	table->row = dfa->nclasses + BH_ROW_EXTRA;
	table->rows_a_page = BH_PAGE_WORDS / table->row;
	table->edges = calloc(table->nblocks, sizeof(*table->edges));
	if (!table->edges)
		return -ENOMEM;
	for (i = 0; i < table->nblocks; i++) {
		table->edges[i] = dfa->nedges;
		table->state[i] = UINT32_MAX;
	}
	/* A block's states have the same edges; blocks are in the order of their first states. */
	for (i = 0; i < dfa->nedges; i++) {
		block = table->block[dfa->edges[i].tail];
		if (block < past)
			continue;
		table->edges[block] = i;
		past = block + 1;
	}
	/* Edges of states that lead to no verdict. */
	table->edges[0] = dfa->nedges;
	return 0;
}

/* The edge behind this one, of the same state; nedges at the end. */
static size_t next_edge(const struct dfa *dfa, size_t i)
{
	return i + 1 < dfa->nedges && dfa->edges[i + 1].tail == dfa->edges[i].tail ? i + 1
										   : dfa->nedges;
}

static void place(struct table *table, __u32 block)
{
	table->state[block] = (__u32)(table->nrows / table->rows_a_page * BH_PAGE_WORDS +
				      table->nrows % table->rows_a_page * table->row);
	table->nrows++;
}

/* Rows in the order of a walk that goes deep first: what one path passes stands together, so that
 * the kernel programs seldom change the page. */
static int place_from(struct table *table, __u32 block, struct nodes *stack)
{
	const struct dfa *dfa = table->dfa;
	size_t i;

	if (nodes_push(stack, block) < 0)
		return -ENOMEM;
	while (stack->n) {
		block = stack->items[--stack->n];
		if (table->state[block] != UINT32_MAX)
			continue;
		place(table, block);
		for (i = table->edges[block]; i < dfa->nedges; i = next_edge(dfa, i)) {
			__u32 head = table->block[dfa->edges[i].head];

			if (table->state[head] == UINT32_MAX && nodes_push(stack, head) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

/* Block 0, the dead one, comes first: its state is 0. */
static int place_all(struct table *table)
{
	_cleanup_(nodes_done) struct nodes stack = {0};
	__u32 block;

	for (block = 0; block < table->nblocks; block++) {
		if (place_from(table, block, &stack) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Writes `head` under each of the labels. */
static void fill_labels(const struct byte_set *labels, __u32 head, __u32 *row)
{
	size_t i;
	__u64 word;

	for (i = 0; i < BYTE_SET_WORDS; i++) {
		for (word = labels->words[i]; word; word &= word - 1)
			row[64 * i + (size_t)__builtin_ctzll(word)] = head;
	}
}

static void fill(const struct table *table, __u32 *words)
{
	const struct dfa *dfa = table->dfa;
	size_t i, block;

	for (i = 0; i < dfa->nstates; i++) {
		size_t at = table->state[table->block[i]] + dfa->nclasses;

		words[at] = (__u32)dfa->verdicts[i];
		words[at + 1] = (__u32)(dfa->verdicts[i] >> 32);
	}
	for (block = 0; block < table->nblocks; block++) {
		words[table->state[block] + dfa->classes['\0']] = table->state[block];
		for (i = table->edges[block]; i < dfa->nedges; i = next_edge(dfa, i))
			fill_labels(&dfa->labels[dfa->edges[i].labels],
				    table->state[table->block[dfa->edges[i].head]],
				    words + table->state[block]);
	}
}

static void table_done(struct table *table)
{
	free(table->edges);
}

int dfa_table(const struct dfa *dfa, const __u32 *block, size_t nblocks, __u32 *ret_state,
	      struct automaton *automaton)
{
	_cleanup_(table_done) struct table table = {
		.dfa = dfa,
		.block = block,
		.nblocks = nblocks,
		.state = ret_state,
	};
	size_t npages;

	if (table_init(&table) < 0 || place_all(&table) < 0)
		return -ENOMEM;
	npages = (nblocks + table.rows_a_page - 1) / table.rows_a_page;
	if (npages > BH_MAX_TABLE_WORDS / BH_PAGE_WORDS)
		return -E2BIG;
	automaton->words = calloc(npages, sizeof(struct bh_page));
	if (!automaton->words)
		return -ENOMEM;
	fill(&table, automaton->words);
	automaton->head.nclasses = (__u32)dfa->nclasses;
	automaton->head.nwords = (__u32)((npages - 1) * BH_PAGE_WORDS +
					 (nblocks - (npages - 1) * table.rows_a_page) * table.row);
	memcpy(automaton->head.classes, dfa->classes, sizeof(dfa->classes));
	return 0;
}
