/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Arrays that grow by doubling, for the policy layer. */
#ifndef POLICY_GROW_H
#define POLICY_GROW_H

#include <errno.h>
#include <stdint.h>
#include "base/cleanup.h"

static inline int grow_bytes(void **items, size_t *size, size_t wanted, size_t item_bytes)
{
	size_t bigger = *size ? *size : 8;
	void *p;

	if (wanted <= *size)
		return 0;
	while (bigger < wanted) {
		if (bigger > SIZE_MAX / 2 / item_bytes)
			return -ENOMEM;
		bigger *= 2;
	}
	p = realloc(*items, bigger * item_bytes);
	if (!p)
		return -ENOMEM;
	*items = p;
	*size = bigger;
	return 0;
}

/* Makes room for `wanted` items at *items (a pointer's address), *size being the room there is. 0,
 * or -ENOMEM with everything as it was. */
#define grow(items, size, wanted)                                                       \
	({                                                                              \
		void *grown_ = *(items);                                                \
		int grow_r_ = grow_bytes(&grown_, (size), (wanted), sizeof(**(items))); \
		*(items) = grown_;                                                      \
		grow_r_;                                                                \
	})

#endif
