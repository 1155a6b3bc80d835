// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Whose events are meant, which of its runs, and what is missing in it. */
#include "events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "audit/loss.h"
#include "base/cleanup.h"
#include "policy/grow.h"

/* Compartments by id: of what they are called, the last. */
struct known {
	const char *name; /* NULL: not seen */
	bool wanted;
};

/* The numbers of one run: an id can be another compartment's later, which counts from 1 again. */
struct account {
	uint64_t most, got, told;
	uint64_t seen; /* bit i: most - i came */
};

struct choice {
	struct known known[BH_MAX_COMPARTMENTS + 1];
	struct account accounts[BH_MAX_COMPARTMENTS + 1];
};

static bool is_called(uint32_t id, const char *name, const char *wanted)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", id);
	return !strcmp(name, wanted) || !strcmp(number, wanted);
}

static void look_around(const struct events *events, const char *wanted, struct choice *choice)
{
	for (size_t i = 0; i < events->n; i++) {
		const struct told *told = &events->items[i];
		struct known *known = &choice->known[told->compartment];

		if (told->kind != TOLD_VIOLATION || !told->name)
			continue;
		known->name = told->name;
		known->wanted = is_called(told->compartment, told->name, wanted);
	}
}

/* "reader (3), web (4)" of those that there are, or that are wanted. */
static size_t list(const struct choice *choice, bool wanted, char *text, size_t size)
{
	size_t at = 0, n = 0;

	text[0] = '\0';
	for (uint32_t id = 0; id <= BH_MAX_COMPARTMENTS; id++) {
		const struct known *known = &choice->known[id];

		if (!known->name || (wanted && !known->wanted))
			continue;
		if (at < size)
			at += (size_t)snprintf(text + at, size - at, "%s%s (%u)", n ? ", " : "",
					       known->name, id);
		n++;
	}
	return n;
}

static int check_choice(const struct choice *choice, const char *wanted, bool by_policy,
			struct error *error)
{
	char text[512];
	size_t n = list(choice, true, text, sizeof(text));

	if (n == 1 || (n && !by_policy))
		return 0;
	if (n)
		return error_set(error, ENOTUNIQ,
				 "%zu compartments are called %s: %s: say --compartment ID for one "
				 "of them, or --compartment %s for all",
				 n, wanted, text, wanted);
	if (!list(choice, false, text, sizeof(text)))
		return error_set(error, ENOENT,
				 "none of these events is of a compartment that has a name");
	return error_set(error, ENOENT, "no event of compartment %s: these are of %s: %s", wanted,
			 text,
			 by_policy ? "give the policy that it ran under, or say --compartment"
				   : "say one of them");
}

/* What came before was another run's. */
static void begin_anew(struct chosen *chosen, struct account *a, uint32_t id)
{
	size_t kept = 0;

	for (size_t i = 0; i < chosen->n; i++) {
		if (chosen->items[i]->compartment == id)
			chosen->earlier++;
		else
			chosen->items[kept++] = chosen->items[i];
	}
	chosen->n = kept;
	*a = (struct account){0};
}

/* Two CPUs may hand theirs over in either order, within LOSS_WINDOW. */
static bool is_another_run(const struct account *a, uint64_t seq)
{
	uint64_t behind = a->most - seq;

	return seq <= a->most && (behind >= LOSS_WINDOW || a->seen >> behind & 1);
}

static void count(struct account *a, uint64_t seq)
{
	uint64_t by = seq > a->most ? seq - a->most : 0;

	if (by) {
		a->seen = by < LOSS_WINDOW ? a->seen << by : 0;
		a->most = seq;
	}
	a->seen |= 1ull << (a->most - seq);
	a->got++;
}

static int take(struct choice *choice, const struct told *told, struct chosen *ret)
{
	struct account *a = &choice->accounts[told->compartment];

	if (told->kind == TOLD_LOST) {
		a->told += told->seq;
		ret->unowned += told->compartment ? 0 : told->seq;
		return 0;
	}
	if (is_another_run(a, told->seq))
		begin_anew(ret, a, told->compartment);
	count(a, told->seq);
	if (grow(&ret->items, &ret->size, ret->n + 1) < 0)
		return -ENOMEM;
	ret->items[ret->n++] = told;
	return 0;
}

/* A loss that is told leaves a gap, unless nothing came after it. */
static void add_up(const struct choice *choice, struct chosen *ret)
{
	for (uint32_t id = 1; id <= BH_MAX_COMPARTMENTS; id++) {
		const struct account *a = &choice->accounts[id];
		uint64_t gaps = a->most - a->got;

		if (!choice->known[id].wanted)
			continue;
		ret->lost += gaps > a->told ? gaps : a->told;
		ret->id = list(choice, true, (char[1]){0}, 1) == 1 ? id : 0;
	}
}

int events_choose(const struct events *events, const char *wanted, const char *policy,
		  struct chosen *ret, struct error *error)
{
	_cleanup_free_ struct choice *choice = calloc(1, sizeof(*choice));
	int r = choice ? 0 : -ENOMEM;

	if (r == 0) {
		look_around(events, wanted ? wanted : policy, choice);
		r = check_choice(choice, wanted ? wanted : policy, !wanted, error);
	}
	for (size_t i = 0; r == 0 && i < events->n; i++) {
		const struct told *told = &events->items[i];
		/* Without a name it is a canary's. */
		bool own = choice->known[told->compartment].wanted &&
			   (told->kind == TOLD_LOST || told->name);

		if (own || (told->kind == TOLD_LOST && !told->compartment))
			r = take(choice, told, ret);
	}
	if (r == -ENOMEM)
		return error_set(error, ENOMEM, "out of memory");
	if (r == 0)
		add_up(choice, ret);
	return r;
}

void chosen_done(struct chosen *chosen)
{
	free(chosen->items);
}
