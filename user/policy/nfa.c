// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "nfa.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "glob.h"
#include "grow.h"

void nodes_done(struct nodes *nodes)
{
	free(nodes->items);
	memset(nodes, 0, sizeof(*nodes));
}

int nodes_push(struct nodes *nodes, __u32 node)
{
	if (grow(&nodes->items, &nodes->size, nodes->n + 1) < 0)
		return -ENOMEM;
	nodes->items[nodes->n++] = node;
	return 0;
}

static int compare_nodes(const void *a, const void *b)
{
	__u32 x = *(const __u32 *)a, y = *(const __u32 *)b;

	return (x > y) - (x < y);
}

/* Most sets have a handful of nodes. */
static void insert_each(__u32 *items, size_t n)
{
	size_t i, j;
	__u32 item;

	for (i = 1; i < n; i++) {
		item = items[i];
		for (j = i; j && items[j - 1] > item; j--)
			items[j] = items[j - 1];
		items[j] = item;
	}
}

void nodes_sort(struct nodes *nodes)
{
	if (nodes->n > 32)
		qsort(nodes->items, nodes->n, sizeof(*nodes->items), compare_nodes);
	else
		insert_each(nodes->items, nodes->n);
}

static int new_node(struct nfa *nfa, __u16 symbol, __u32 *ret_node)
{
	if (grow(&nfa->nodes, &nfa->nodes_size, nfa->nnodes + 1) < 0)
		return -ENOMEM;
	nfa->nodes[nfa->nnodes] = (struct nfa_node){.symbol = symbol, .rule = nfa->rule};
	*ret_node = (__u32)nfa->nnodes++;
	return 0;
}

void nfa_disown(struct nfa *nfa, __u32 node, __u32 rule)
{
	if (nfa->nodes[node].rule == rule)
		return;
	nfa->nodes[node].rule = 0;
	if (nfa->nodes[node].symbol == NFA_DEEP)
		nfa->nodes[node + 1].rule = 0;
}

/* The child of `parent` by `symbol`, made if there is none. */
static int child_node(struct nfa *nfa, __u32 parent, __u16 symbol, __u32 *ret_child)
{
	__u32 child, loop, edge;

	for (edge = nfa->nodes[parent].edge; edge; edge = nfa->edges[edge].next) {
		child = nfa->edges[edge].child;
		if (nfa->nodes[child].symbol == symbol) {
			nfa_disown(nfa, child, nfa->rule);
			*ret_child = child;
			return 0;
		}
	}
	if (new_node(nfa, symbol, &child) < 0 ||
	    grow(&nfa->edges, &nfa->edges_size, nfa->nedges + 1) < 0)
		return -ENOMEM;
	if (symbol == NFA_DEEP && new_node(nfa, NFA_LOOP, &loop) < 0)
		return -ENOMEM;
	if (symbol < 256)
		byte_set_add(&nfa->literal, symbol);
	nfa->edges[nfa->nedges] = (struct nfa_edge){child, nfa->nodes[parent].edge};
	nfa->nodes[parent].edge = (__u32)nfa->nedges++;
	*ret_child = child;
	return 0;
}

static int is_deep(const char *glob)
{
	return !strncmp(glob, "/**", 3) && (glob[3] == '/' || glob[3] == '\0');
}

/* The symbol of a set: equal ones share theirs. */
static int set_symbol(struct nfa *nfa, const struct byte_set *set, __u16 *ret_symbol)
{
	size_t i;

	for (i = 0; i < nfa->nsets && memcmp(&nfa->sets[i], set, sizeof(*set)); i++)
		;
	if (i == BH_MAX_SETS)
		return -E2BIG;
	if (i == nfa->nsets) {
		if (grow(&nfa->sets, &nfa->sets_size, i + 1) < 0)
			return -ENOMEM;
		nfa->sets[nfa->nsets++] = *set;
	}
	*ret_symbol = (__u16)(NFA_SET + i);
	return 0;
}

/* The symbol at *glob, which moves behind it. */
static int next_symbol(struct nfa *nfa, const char **glob, __u16 *ret_symbol)
{
	struct glob_element element;

	if (is_deep(*glob)) {
		/* Any number of components twice is any number of components. */
		while (is_deep(*glob))
			*glob += 3;
		*ret_symbol = NFA_DEEP;
		return 0;
	}
	(void)glob_read(glob, &element);
	if (element.kind == GLOB_SET)
		return set_symbol(nfa, &element.set, ret_symbol);
	*ret_symbol = element.kind == GLOB_STAR ? NFA_STAR : element.byte;
	return 0;
}

struct addition {
	struct nfa *nfa;
	const struct rule *rule;
};

static int add_branch(const struct glob_branch *branch, void *context)
{
	const struct addition *addition = context;
	const struct rule *rule = addition->rule;
	/* The root directory's path has no bytes: see automaton_walk. */
	const char *glob = strcmp(branch->text, "/") ? branch->text : "";
	__u32 perms = rule->perms, node = 0;
	struct nfa_node *end;
	__u16 symbol;
	int r;

	if (perms & BH_PERM_WRITE)
		perms |= BH_PERM_APPEND;
	while (*glob) {
		r = next_symbol(addition->nfa, &glob, &symbol);
		if (r == 0)
			r = child_node(addition->nfa, node, symbol, &node);
		if (r < 0)
			return r;
	}
	if (addition->nfa->nnodes > BH_MAX_NFA_NODES)
		return -E2BIG;
	end = &addition->nfa->nodes[node];
	end->says[rule->effect] |= perms;
	if (rule->effect == RULE_ALLOW && (rule->links || glob_is_name(branch->text)))
		end->links |= perms;
	return 0;
}

int nfa_init(struct nfa *nfa, const struct rule *rules, size_t nrules)
{
	struct addition addition = {.nfa = nfa};
	__u32 root;
	size_t i;
	int r;

	memset(nfa, 0, sizeof(*nfa));
	nfa->nbinds = nfa->nedges = 1;
	if (grow(&nfa->edges, &nfa->edges_size, 1) < 0)
		return -ENOMEM;
	nfa->edges[0] = (struct nfa_edge){0, 0};
	byte_set_add(&nfa->literal, '/');
	if (new_node(nfa, NFA_ROOT, &root) < 0)
		return -ENOMEM;
	for (i = 0; i < nrules; i++) {
		addition.rule = &rules[i];
		nfa->rule = (__u32)i + 1;
		r = glob_expand(rules[i].glob, add_branch, &addition);
		if (r < 0)
			return r;
	}
	nfa->rule = 0;
	return nfa_share(nfa);
}

void nfa_done(struct nfa *nfa)
{
	size_t i;

	for (i = 1; i < nfa->nbinds; i++)
		nodes_done(&nfa->binds[i].at_point);
	free(nfa->binds);
	free(nfa->edges);
	free(nfa->nodes);
	free(nfa->sets);
	memset(nfa, 0, sizeof(*nfa));
}

/* Adds a node and what is reached from it without reading. */
static int add_closed(struct nfa *nfa, __u32 node, struct nodes *to)
{
	__u32 child, edge;

	if (nfa->nodes[node].stamp == nfa->stamp)
		return 0;
	nfa->nodes[node].stamp = nfa->stamp;
	if (nodes_push(to, node) < 0)
		return -ENOMEM;
	if (nfa->nodes[node].symbol == NFA_LOOP && add_closed(nfa, node - 1, to) < 0)
		return -ENOMEM;
	for (edge = nfa->nodes[node].edge; edge; edge = nfa->edges[edge].next) {
		child = nfa->edges[edge].child;
		if (nfa->nodes[child].symbol != NFA_STAR && nfa->nodes[child].symbol != NFA_DEEP)
			continue;
		if (add_closed(nfa, child, to) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void begin_set(struct nfa *nfa, struct nodes *to)
{
	nfa->stamp++;
	to->n = 0;
}

int nfa_start(struct nfa *nfa, struct nodes *to)
{
	begin_set(nfa, to);
	if (add_closed(nfa, 0, to) < 0)
		return -ENOMEM;
	nodes_sort(to);
	return 0;
}

/* Does the symbol of a child read this byte on the way to it? */
static bool reads(const struct nfa *nfa, __u16 symbol, __u8 byte)
{
	return symbol == byte ||
	       (symbol >= NFA_SET && byte_set_has(&nfa->sets[symbol - NFA_SET], byte));
}

/* What one node reaches by a byte, binds aside. */
static int step_node(struct nfa *nfa, __u32 node, __u8 byte, struct nodes *to)
{
	__u16 symbol = nfa->nodes[node].symbol;
	__u32 child, edge;

	if (symbol == NFA_LOOP || (symbol == NFA_STAR && byte != '/')) {
		if (add_closed(nfa, node, to) < 0)
			return -ENOMEM;
	}
	for (edge = nfa->nodes[node].edge; edge; edge = nfa->edges[edge].next) {
		child = nfa->edges[edge].child;
		symbol = nfa->nodes[child].symbol;
		if (reads(nfa, symbol, byte) && add_closed(nfa, child, to) < 0)
			return -ENOMEM;
		if (symbol == NFA_DEEP && byte == '/' && add_closed(nfa, child + 1, to) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Behind a bind's root only "/" goes on: "/srv" bound on /data says nothing about "/srvx", though
 * the rules may well have "/data*". */
static int step_binds(struct nfa *nfa, __u32 bind, struct nodes *to)
{
	size_t i;

	for (; bind; bind = nfa->binds[bind].next) {
		const struct nodes *at_point = &nfa->binds[bind].at_point;

		for (i = 0; i < at_point->n; i++) {
			if (step_node(nfa, at_point->items[i], '/', to) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

int nfa_step(struct nfa *nfa, const struct nodes *from, __u8 byte, struct nodes *to)
{
	size_t i;

	begin_set(nfa, to);
	for (i = 0; i < from->n; i++) {
		__u32 node = from->items[i];

		if (step_node(nfa, node, byte, to) < 0)
			return -ENOMEM;
		if (byte == '/' && step_binds(nfa, nfa->nodes[node].bind, to) < 0)
			return -ENOMEM;
	}
	nodes_sort(to);
	return 0;
}

/* The nodes after `path` was read from the rules' root; "/" reads nothing. */
static int read_path(struct nfa *nfa, const char *path, struct nodes *to)
{
	_cleanup_(nodes_done) struct nodes from = {0};

	if (nfa_start(nfa, to) < 0)
		return -ENOMEM;
	if (!strcmp(path, "/"))
		return 0;
	for (; *path; path++) {
		struct nodes swap = from;

		from = *to;
		*to = swap;
		if (nfa_step(nfa, &from, (__u8)*path, to) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int add_bind(struct nfa *nfa, const char *root_path, __u32 root, struct nodes *at_point)
{
	__u32 node = root;

	for (; *root_path; root_path++) {
		if (child_node(nfa, node, (__u8)*root_path, &node) < 0)
			return -ENOMEM;
	}
	if (grow(&nfa->binds, &nfa->binds_size, nfa->nbinds + 1) < 0)
		return -ENOMEM;
	nfa->binds[nfa->nbinds] = (struct nfa_bind){
		.at_point = *at_point,
		.next = nfa->nodes[node].bind,
	};
	memset(at_point, 0, sizeof(*at_point));
	nfa->nodes[node].bind = (__u32)nfa->nbinds++;
	return 0;
}

int nfa_add_mount(struct nfa *nfa, const struct mount_view *mount, __u32 *root, struct nodes *start)
{
	_cleanup_(nodes_done) struct nodes at_point = {0};
	size_t i;

	if (read_path(nfa, mount->point, &at_point) < 0)
		return -ENOMEM;
	if (strcmp(mount->root, "/")) {
		if (*root == NFA_NO_ROOT) {
			if (new_node(nfa, NFA_ROOT, root) < 0 || nodes_push(start, *root) < 0)
				return -ENOMEM;
		}
		return add_bind(nfa, mount->root, *root, &at_point);
	}
	for (i = 0; i < at_point.n; i++) {
		if (nodes_push(start, at_point.items[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void hear(const struct nfa *nfa, const struct nodes *nodes, __u32 says[RULE_EFFECTS],
		 __u32 *links)
{
	size_t i, effect;

	for (i = 0; i < nodes->n; i++) {
		*links |= nfa->nodes[nodes->items[i]].links;
		for (effect = 0; effect < RULE_EFFECTS; effect++)
			says[effect] |= nfa->nodes[nodes->items[i]].says[effect];
	}
}

__u64 nfa_verdict(const struct nfa *nfa, const struct nodes *nodes)
{
	__u32 says[RULE_EFFECTS] = {0}, links = 0, bind, allow, quiet;
	size_t i;

	hear(nfa, nodes, says, &links);
	for (i = 0; i < nodes->n; i++) {
		for (bind = nfa->nodes[nodes->items[i]].bind; bind; bind = nfa->binds[bind].next)
			hear(nfa, &nfa->binds[bind].at_point, says, &links);
	}
	allow = rights_in_force(says[RULE_ALLOW] & ~says[RULE_DENY] & ~says[RULE_TRIPWIRE]);
	/* A right that is allowed has no refusal to keep quiet about, and a tripwire is not quiet. */
	quiet = says[RULE_QUIET] & ~allow & ~says[RULE_TRIPWIRE];
	if (allow & BH_PERM_DELETE && (says[RULE_DENY] | says[RULE_TRIPWIRE]) & BH_PERM_CONTENTS)
		quiet |= BH_PERM_LINKS;
	if (allow & BH_PERM_CONTENTS && !(allow & BH_PERM_CONTENTS & ~links))
		allow |= BH_PERM_LINKS;
	return allow | quiet << 16 | (__u64)(says[RULE_AUDIT] & allow) << 32 |
	       (__u64)says[RULE_TRIPWIRE] << 48;
}
