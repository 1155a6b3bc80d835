/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef COMPART_POLICIES_H
#define COMPART_POLICIES_H

/* Where the shipped policies stand: $BULKHEAD_POLICIES, the installed place, or the source tree
 * that the running program was built in. Never NULL; lives as long as the program. */
const char *policies_dir(void);

#endif
