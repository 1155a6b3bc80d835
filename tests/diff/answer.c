// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "answer.h"

#include <stdio.h>
#include <string.h>

/* As bh_place_links: nothing is pinned here, and nothing made inside. */
static __u32 hidden_by(const struct automaton *automaton, const struct question *question,
		       const struct bh_masks *masks)
{
	__u32 hidden = masks->quiet & BH_PERM_LINKS ? BH_PERM_DELETE : 0;
	size_t i;

	if (!inode_has_names(question->inode))
		return 0;
	for (i = 0; i < automaton->nstarts && !(masks->allow & BH_PERM_LINKS); i++) {
		if (automaton->starts[i].sbid == question->sbid)
			hidden |= automaton->starts[i].start.patterns;
	}
	return hidden;
}

void automaton_answer(const struct automaton *automaton, const struct question *question,
		      struct answer *ret)
{
	*ret = (struct answer){.refused = true};
	ret->unknown = automaton_walk(automaton, question->sbid, question->path.bytes,
				      question->path.n, &ret->masks) < 0;
	if (ret->unknown)
		return;
	ret->hidden = hidden_by(automaton, question, &ret->masks);
	ret->refused = !automaton_allows(ret->masks.allow & ~ret->hidden, question->asked);
	ret->tripped = ret->refused && question->asked & ret->masks.tripwire;
	ret->silent = !automaton_allows(ret->masks.allow, question->asked) && !ret->tripped &&
		      automaton_allows(ret->masks.allow | ret->masks.quiet, question->asked);
	ret->audited = !ret->refused && question->asked & ret->masks.audit;
}

bool answer_is_same(const struct answer *one, const struct answer *other)
{
	return one->unknown == other->unknown && one->refused == other->refused &&
	       one->silent == other->silent && one->tripped == other->tripped &&
	       one->audited == other->audited &&
	       !memcmp(&one->masks, &other->masks, sizeof(one->masks)) &&
	       one->hidden == other->hidden && one->undecided == other->undecided;
}

/* In a glob's own way of writing bytes. */
static void tell_text(const char *text)
{
	putchar('"');
	for (; *text; text++)
		printf((unsigned char)*text < ' ' || *text & 0x80 || *text == 0x7f ? "\\x%02x"
										   : "%c",
		       (unsigned char)*text);
	putchar('"');
}

void tell_question(const struct world *world, const struct question *question)
{
	const struct text *path = &question->path;
	size_t i;

	static const char *const inodes[] = {"nothing", "a file", "a directory", "a linked file",
					     "a file without this name"};

	printf("superblock %u, asked %x, %s, %zu bytes ", question->sbid, question->asked,
	       inodes[question->inode], path->n);
	tell_text(path->bytes);
	putchar('\n');
	for (i = 0; i < world->nrules; i++) {
		const struct rule *rule = &world->rules[i];
		static const char *const effects[] = {[RULE_ALLOW] = "allow",
						      [RULE_DENY] = "deny",
						      [RULE_QUIET] = "quiet",
						      [RULE_AUDIT] = "audit",
						      [RULE_TRIPWIRE] = "tripwire"};

		printf("  %s %x%s ", effects[rule->effect], rule->perms,
		       rule->links ? " links" : "");
		tell_text(rule->glob);
		puts(glob_match(rule->glob, path->bytes, path->n) ? " matches as it stands" : "");
	}
	for (i = 0; i < world->nmounts; i++) {
		printf("  superblock %u's ", world->mounts[i].sbid);
		tell_text(world->mounts[i].root);
		fputs(" at ", stdout);
		tell_text(world->mounts[i].point);
		putchar('\n');
	}
}

void tell_answer(const char *who, const struct answer *answer)
{
	const struct bh_masks *masks = &answer->masks;

	printf("  %-10s allow %04x quiet %04x audit %04x tripwire %04x, %s%s%s%s%s", who,
	       masks->allow, masks->quiet, masks->audit, masks->tripwire,
	       answer->refused ? "refused" : "allowed", answer->silent ? " quietly" : "",
	       answer->tripped ? ", tripped" : "", answer->audited ? ", audited" : "",
	       answer->unknown ? ", superblock unknown" : "");
	if (answer->hidden)
		printf(", hidden %04x", answer->hidden);
	if (answer->undecided)
		printf(", undecided (reason %u)", answer->undecided);
	putchar('\n');
}
