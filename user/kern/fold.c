// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Repeats of refusals that wait in the kernel's table (struct bh_fold). */
#include "internal.h"

#include <string.h>
#include <time.h>

#define NS_PER_MS 1000000ull
#define NS_PER_S 1000000000ull
#define WRITING (1ull << 32)
#define REPEATS 0xffffffffull

void kern_fold_switch(struct kern *kern, unsigned int ms)
{
	*kern->fold_ns = ms * NS_PER_MS;
}

static __u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (__u64)now.tv_sec * NS_PER_S + (__u64)now.tv_nsec;
}

/* A kind that may be repeated still is told of by the kernel when it is, or is taken the next time. */
static bool is_wanted(const struct kern *kern, const struct bh_event *event, __u32 compartment,
		      __u64 now)
{
	if (compartment)
		return event->compartment == compartment;
	return event->time_ns > now || now - event->time_ns >= *kern->fold_ns;
}

/* Copied first: the exchange says that nobody has written there meanwhile. */
static bool take(struct kern *kern, struct bh_fold *fold, __u32 compartment, struct bh_fold *ret)
{
	__u64 word = __atomic_load_n(&fold->word, __ATOMIC_ACQUIRE), now = now_ns();

	while (!(word & WRITING) && word & REPEATS) {
		memcpy(ret, fold, sizeof(*ret));
		if (!is_wanted(kern, &ret->event, compartment, now))
			return false;
		if (!__atomic_compare_exchange_n(&fold->word, &word, word & ~REPEATS, false,
						 __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE))
			continue;
		ret->event.bits |= BH_EVENT_REPEATED;
		ret->event.repeated = (__u32)word;
		ret->event.time_ns = now;
		return true;
	}
	return false;
}

int kern_folds_take(struct kern *kern, __u32 compartment, kern_event_fn fn, void *data)
{
	struct bh_fold taken;
	int r = 0;

	for (size_t i = 0; r == 0 && i < BH_FOLDS; i++)
		if (take(kern, &kern->folds[i], compartment, &taken))
			r = fn(&taken.event, taken.event.size, data);
	return r;
}
