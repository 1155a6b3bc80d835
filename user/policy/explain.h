/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the kernel would say to a question, and which rule makes it say so. The verdict is the
 * automaton's, walked with the kernel's own matcher; the rule is found in the policy's text. The two
 * are compared each time: an explanation of a verdict that is not the kernel's is worse than none.
 */
#ifndef POLICY_EXPLAIN_H
#define POLICY_EXPLAIN_H

#include "policy.h"

/* An object, and what is to be done with it. */
struct question {
	const char *const *names; /* as people write them: every name it has in the view */
	size_t nnames;
	/* Where it stands: a superblock of the automaton, its kind, and the path there. sbid 0: no
	 * view, names[0] as written, and special filesystems where they usually are. */
	__u32 sbid;
	enum bh_sb_class class;
	const char *place;
	__u32 perms;  /* BH_PERM_*, all of which are asked for */
	bool linked;  /* a file with several names, which were not given inside */
	__u32 pinned; /* rights that denies of its other names take, where those are known */
};

struct answer {
	bool allowed;
	bool quiet; /* refused, counted, and not reported */
	/* Of a refusal: NO_RULE (the rules', or that there is none), TRIPWIRE, OLD_LINK or PINNED (rules
	 * allow it, and it may be, or is, what others deny), or what no rule can change: CLOSED,
	 * PROC_OTHER, UNSURE_SB. NONE when allowed. */
	enum bh_reason reason;
	__u32 taken;		/* rights that rules give and this kind of filesystem takes away */
	enum bh_sb_class class; /* that kind */
	bool written; /* it may have been written inside: `rule` would let it run with written-inside: true */
	const struct rule *rule;  /* that decides; NULL when none says anything */
	const struct rule *hush;  /* that keeps the refusal quiet, or NULL */
	const struct rule *watch; /* of what is allowed: the audit rule that reports it, or NULL */
	const char *name;	  /* of the names: the one that the deciding rule speaks of */
};

/*
 * 0; -EBADE and an error that says where they differ when automaton and text disagree, which is an
 * error of this program. The automaton was compiled from this policy, and for the view that the
 * question's place is of.
 */
int policy_answer(const struct policy *policy, const struct automaton *automaton,
		  const struct question *question, struct answer *ret, struct error *error);

/* What a path needs before it can be asked about: absolute or "@name", whole components. 0, or
 * -EINVAL with what to write instead. */
int policy_check_path(const char *path, __u32 perms, struct error *error);

/* What to know of a path below /proc that no rule can say, or NULL. */
const char *policy_note_proc(enum proc_view view, const char *path);

/* "read,exec" -> rights. 0, or -EINVAL with the words there are. */
int perms_from_list(const char *text, __u32 *ret, struct error *error);

#endif
