// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "asking.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool is_free(const struct asking_slot *slot, __u64 now_us)
{
	return !slot->n && slot->until_us <= now_us;
}

static int find(const struct asking *asking, __u64 serial, const char *name, __u64 now_us)
{
	int place = -EBUSY;
	size_t mine = 0, nfree = 0;

	for (int i = 0; i < ASKING_SLOTS; i++) {
		const struct asking_slot *slot = &asking->slots[i];

		if (is_free(slot, now_us)) {
			place = place < 0 ? i : place;
			nfree++;
			continue;
		}
		if (slot->serial != serial)
			continue;
		if (!strcmp(slot->name, name))
			return i;
		mine++;
	}
	if (mine && (mine >= ASKING_EACH || mine + ASKING_FIRST >= nfree))
		return -EBUSY;
	return place;
}

int asking_begin(struct asking *asking, __u64 serial, const char *name, __u64 now_us)
{
	int i = find(asking, serial, name, now_us);
	struct asking_slot *slot;

	if (i < 0)
		return i;
	slot = &asking->slots[i];
	if (is_free(slot, now_us)) {
		*slot = (struct asking_slot){.serial = serial};
		snprintf(slot->name, sizeof(slot->name), "%s", name);
	}
	slot->n++;
	return i;
}

void asking_end(struct asking *asking, int i, bool given_up, __u64 now_us)
{
	struct asking_slot *slot = &asking->slots[i];

	slot->n--;
	if (given_up)
		slot->until_us = now_us + asking->linger_us;
}
