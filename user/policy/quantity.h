/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers as people write them in a policy. */
#ifndef POLICY_QUANTITY_H
#define POLICY_QUANTITY_H

#include <stddef.h>
#include <linux/types.h>

/* "200MiB", "4096": 1 to INT64_MAX bytes. 0, or -EINVAL, what to write instead and at which byte of the text. */
int quantity_bytes(const char *text, __u64 *ret, const char **ret_why, size_t *ret_at);

/* "1GiB", "4096": in the largest unit that divides it. Returns buffer. */
#define QUANTITY_TEXT_SIZE 32
char *quantity_format(__u64 bytes, char buffer[QUANTITY_TEXT_SIZE]);

#endif
