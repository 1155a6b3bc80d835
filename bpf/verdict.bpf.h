/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Refusing: verdict first, then counters, then the ring. A ring that is full, or a slot that is not
 * free, loses the event and counts the loss; it never changes the verdict.
 */
#ifndef BULKHEAD_VERDICT_BPF_H
#define BULKHEAD_VERDICT_BPF_H

#include "subject.bpf.h"

#define BH_HOOK_FACTS_(name, text, err, plane) \
	BH_ERRNO_##name = (err), BH_PLANE_OF_##name = BH_PLANE_##plane,
enum { BH_HOOKS(BH_HOOK_FACTS_) };

#define BH_SMALL_TAIL 16 /* an address, the name of a nameless object's kind: "[userfaultfd]" */

/* One refusal, as the hook describes it. Its tail is the path in the slot (BH_OBJECT_PATH), or `small`, whose rest is
 * 0. */
struct bh_refusal {
	__u16 hook, reason;
	__u16 error;
	__u8 plane, bits;
	__u32 perms; /* all of these are asked for */
	__u32 any;   /* or one of these is enough; 0: no */
	__u32 kind;
	__u32 object[5];
	__u32 tail; /* bytes */
	__u64 small[BH_SMALL_TAIL / 8];
};

#define BH_REFUSAL(hook_, reason_)                                                       \
	{                                                                                \
		.hook = BH_HOOK_##hook_, .reason = (reason_), .error = BH_ERRNO_##hook_, \
		.plane = BH_PLANE_OF_##hook_,                                            \
	}

/* -error, in a shape whose range every verifier sees: since 6.8 a hook's value must lie in
 * [-4095, 0], and only the newest follow a negation. Verdicts are long, because a 32-bit move would
 * lose the sign in their eyes. */
static __always_inline long bh_negative(__u64 error)
{
	long negative;

	asm volatile("%1 &= 4095; %0 = 0; %0 -= %1" : "=&r"(negative), "+r"(error));
	return negative;
}

struct bh_claim {
	struct bh_slot *slot;
};

static long bh_slot_try(__u32 i, struct bh_claim *claim)
{
	struct bh_slot *slot = bpf_map_lookup_elem(&bh_slots, &i);

	/* Another decider may have been preempted on this CPU while it holds a slot. */
	if (!slot || __sync_val_compare_and_swap(&slot->busy, 0, 1) != 0)
		return 0;
	claim->slot = slot;
	return 1;
}

/* A loop by helper, here as everywhere: the verifier would follow a plain one turn by turn. */
static __always_inline struct bh_slot *bh_slot_claim_here(void)
{
	struct bh_claim claim = {};

	bpf_loop(BH_SLOTS, bh_slot_try, &claim, 0);
	return claim.slot;
}

static __noinline __attribute__((unused)) struct bh_slot *bh_slot_claim(void)
{
	return bh_slot_claim_here();
}

static __always_inline void bh_slot_release(struct bh_slot *slot)
{
	if (slot)
		*(volatile __u32 *)&slot->busy = 0;
}

/* Counts and reports: 0 in audit mode, else the errno to refuse with (positive). */
__noinline int bh_refuse_errno(const struct bh_subject *s, struct bh_refusal *r,
			       struct bh_slot *slot);

/* What the hook returns. The result of a global function is any number to the verifier. */
static __always_inline long bh_refuse(const struct bh_subject *s, struct bh_refusal *r,
				      struct bh_slot *slot)
{
	return bh_negative(bh_refuse_errno(s, r, slot));
}

static __always_inline long bh_refuse_number(const struct bh_subject *s, struct bh_refusal *r,
					     __u32 number)
{
	r->kind = BH_OBJECT_NUMBER;
	r->object[0] = number;
	return bh_refuse(s, r, NULL);
}

/* What it is about is no file, and has a kind alone, which stands in r->small. */
static __noinline __attribute__((unused)) long bh_refuse_name(const struct bh_subject *s,
							      struct bh_refusal *r)
{
	r->kind = BH_OBJECT_NAME;
	r->object[2] = r->tail = BH_SMALL_TAIL;
	return bh_refuse(s, r, NULL);
}

/*
 * The head of every hook: keep an earlier refusal, find the subject, leave outsiders, refuse who
 * cannot be told. Leaves `s` filled for the hook's own decision.
 */
#define BH_ENTER(s, hook_, earlier)                                      \
	struct bh_subject s = {};                                        \
                                                                         \
	if (earlier)                                                     \
		return earlier;                                          \
	switch (bh_subject_current(&s)) {                                \
	case BH_SUBJECT_NONE:                                            \
		return 0;                                                \
	case BH_SUBJECT_UNSURE: {                                        \
		struct bh_refusal unsure_ = BH_REFUSAL(hook_, s.reason); \
                                                                         \
		return bh_refuse(&s, &unsure_, NULL);                    \
	}                                                                \
	}

/* A whole hook of what no compartment may do. */
#define BH_CLOSED(s, hook_, number)                                              \
	({                                                                       \
		struct bh_refusal closed_ = BH_REFUSAL(hook_, BH_REASON_CLOSED); \
		bh_refuse_number(&s, &closed_, number);                          \
	})

#endif
