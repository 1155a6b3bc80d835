// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "answer.h"

#include <stdio.h>
#include <string.h>

void automaton_answer(const struct automaton *automaton, const struct question *question,
		      struct answer *ret)
{
	*ret = (struct answer){.refused = true};
	ret->unknown = automaton_walk(automaton, question->sbid, question->path.bytes,
				      question->path.n, &ret->masks) < 0;
	if (ret->unknown)
		return;
	ret->refused = !automaton_allows(ret->masks.allow, question->asked);
	ret->tripped = ret->refused && question->asked & ret->masks.tripwire;
	ret->silent = ret->refused && !ret->tripped &&
		      automaton_allows(ret->masks.allow | ret->masks.quiet, question->asked);
	ret->audited = !ret->refused && question->asked & ret->masks.audit;
}

bool answer_is_same(const struct answer *one, const struct answer *other)
{
	return one->unknown == other->unknown && one->refused == other->refused &&
	       one->silent == other->silent && one->tripped == other->tripped &&
	       one->audited == other->audited &&
	       !memcmp(&one->masks, &other->masks, sizeof(one->masks)) &&
	       one->undecided == other->undecided;
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

	printf("superblock %u, asked %x, %zu bytes ", question->sbid, question->asked, path->n);
	tell_text(path->bytes);
	putchar('\n');
	for (i = 0; i < world->nrules; i++) {
		const struct rule *rule = &world->rules[i];
		static const char *const effects[] = {[RULE_ALLOW] = "allow",
						      [RULE_DENY] = "deny",
						      [RULE_QUIET] = "quiet",
						      [RULE_AUDIT] = "audit",
						      [RULE_TRIPWIRE] = "tripwire"};

		printf("  %s %x ", effects[rule->effect], rule->perms);
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
	if (answer->undecided)
		printf(", undecided (reason %u)", answer->undecided);
	putchar('\n');
}
