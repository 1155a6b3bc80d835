/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files that rules deny by their whole names, pinned: refused by every other name that they have. */
#ifndef COMPART_PINS_H
#define COMPART_PINS_H

#include "compart.h"

/*
 * For a generation that is installed and not in force yet. The names in the view that `mounts` was read for;
 * those that a mount hides are not looked for. Where it cannot be done, the generation is loose, and such
 * denies count as patterns do: that is no failure. -ENOMEM, or what writing to the kernel said.
 */
int pins_take(struct kern *kern, const struct rule *rules, size_t nrules,
	      const struct mounts *mounts, __u32 generation, struct error *error);

#endif
