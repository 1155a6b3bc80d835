// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "loss.h"

#include <stdbool.h>
#include <stdlib.h>
#include "event.h"

struct account {
	__u64 base; /* lowest number not accounted for; 0: the account has not begun */
	__u64 seen; /* bit i: base + i came */
	__u64 total;
};

struct loss {
	struct account of[BH_MAX_COMPARTMENTS];
};

struct loss *loss_new(void)
{
	return calloc(1, sizeof(struct loss));
}

void loss_free(struct loss *loss)
{
	free(loss);
}

void loss_forget(struct loss *loss, __u32 compartment)
{
	if (compartment < BH_MAX_COMPARTMENTS)
		loss->of[compartment] = (struct account){0};
}

void loss_expect(struct loss *loss, __u32 compartment, __u64 seq)
{
	if (compartment < BH_MAX_COMPARTMENTS)
		loss->of[compartment] = (struct account){.base = seq};
}

/* Moves the window to begin at `base`; returns how many of the numbers left behind never came. */
static __u64 advance(struct account *a, __u64 base)
{
	__u64 by = base - a->base, lost;

	if (by >= LOSS_WINDOW) {
		lost = by - (__u64)__builtin_popcountll(a->seen);
		a->seen = 0;
	} else {
		__u64 behind = by ? a->seen & ((1ull << by) - 1) : 0;

		lost = by - (__u64)__builtin_popcountll(behind);
		a->seen >>= by;
	}
	a->base = base;
	a->total += lost;
	return lost;
}

static void skip_seen(struct account *a)
{
	for (; a->seen & 1; a->seen >>= 1)
		a->base++;
}

__u64 loss_seen(struct loss *loss, __u32 compartment, __u64 seq, bool *ret_late)
{
	struct account *a;
	__u64 lost = 0;

	*ret_late = false;
	if (compartment >= BH_MAX_COMPARTMENTS || !seq)
		return 0;
	a = &loss->of[compartment];
	if (!a->base)
		a->base = seq;
	if (seq < a->base) {
		*ret_late = true;
		a->total -= a->total > 0;
		return 0;
	}
	if (seq - a->base >= LOSS_WINDOW)
		lost = advance(a, seq - LOSS_WINDOW + 1);
	a->seen |= 1ull << (seq - a->base);
	skip_seen(a);
	return lost;
}

__u64 loss_settle(struct loss *loss, __u32 compartment, __u64 seq)
{
	struct account *a;
	__u64 lost;

	if (compartment >= BH_MAX_COMPARTMENTS)
		return 0;
	a = &loss->of[compartment];
	if (!a->base || seq < a->base)
		return 0;
	lost = advance(a, seq + 1);
	skip_seen(a);
	return lost;
}

__u64 loss_total(const struct loss *loss, __u32 compartment)
{
	return compartment < BH_MAX_COMPARTMENTS ? loss->of[compartment].total : 0;
}

json_t *loss_record(__u32 compartment, __u64 count, int64_t realtime_ns)
{
	char time[RECORD_TIME_SIZE];
	json_t *record = json_pack("{s:s, s:s, s:I}", "kind", "lost", "time",
				   record_time(realtime_ns, time), "count", (json_int_t)count);

	if (record && compartment)
		json_object_set_new(record, "compartment", json_integer(compartment));
	return record;
}
