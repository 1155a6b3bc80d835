/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which events never came. Events of a compartment are numbered from 1 in the kernel, lost ones
 * too; two CPUs may hand theirs over in either order, so a number is given up only when the stream
 * is LOSS_WINDOW numbers past it, or when the caller says that it must have come by now.
 */
#ifndef AUDIT_LOSS_H
#define AUDIT_LOSS_H

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>
#include <bulkhead/abi.h>

#define LOSS_WINDOW 64

struct loss; /* of all compartments */
struct loss *loss_new(void);
void loss_free(struct loss *loss);

/* Nothing is known of this id any more: a new compartment has it. */
void loss_forget(struct loss *loss, __u32 compartment);
/* The next number expected; without it, the first one seen is where the account begins. */
void loss_expect(struct loss *loss, __u32 compartment, __u64 seq);

/* An event came. Returns how many are given up by that. *ret_late when it had been given up
 * itself. */
__u64 loss_seen(struct loss *loss, __u32 compartment, __u64 seq, bool *ret_late);
/* Every number up to `seq` has come or never will. Returns how many are given up. */
__u64 loss_settle(struct loss *loss, __u32 compartment, __u64 seq);
/* Given up since the account began, late ones taken off: what the kernel's own count of lost events
 * must agree with. */
__u64 loss_total(const struct loss *loss, __u32 compartment);

/* {"kind": "lost", ...}; compartment 0: records a reader or file lost, whoever they were about. */
json_t *loss_record(__u32 compartment, __u64 count, int64_t realtime_ns);

#endif
