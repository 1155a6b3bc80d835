// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "learn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "files.h"
#include "internal.h"

DEFINE_CLEANUP(struct policy *, policy_free)

static void proposal_done(struct proposal *p)
{
	chosen_done(&p->chosen);
	run_done(&p->run);
	policy_free(p->base);
	policy_free(p->credentials);
	free(p->wanted);
	free(p->left);
	includes_done(&p->includes);
	rows_done(&p->rows);
}

static int no_memory(struct error *error)
{
	return error_set(error, ENOMEM, "out of memory");
}

/* --- what is there to begin with --- */

static int load_credentials(struct proposal *p, struct error *error)
{
	int r = policy_load_include(LEARN_CREDENTIALS, p->request->options, &p->credentials, error);

	if (r < 0) {
		error_prefix(error, "nothing is proposed without " LEARN_CREDENTIALS
				    ", the list of what never is");
		return r;
	}
	for (size_t i = 0; i < p->credentials->nrules; i++)
		if (p->credentials->rules[i].effect == RULE_DENY)
			return 0;
	return error_set(error, EINVAL,
			 "%s denies nothing: without the list of credentials nothing is proposed",
			 p->credentials->files[0]);
}

static int begin(struct proposal *p, const struct events *events, struct error *error)
{
	const struct learn_request *request = p->request;
	int r = policy_load(request->policy, request->options, &p->base, error);

	if (r == 0)
		r = load_credentials(p, error);
	if (r == 0)
		r = events_choose(events, request->compartment, p->base->name, &p->chosen, error);
	if (r < 0)
		return r;
	if (run_fold(&p->chosen, &p->run) < 0)
		return no_memory(error);
	p->wanted = calloc(p->run.nuses + 1, sizeof(*p->wanted));
	p->left = calloc(p->run.nuses + 1, sizeof(*p->left));
	return p->wanted && p->left ? 0 : no_memory(error);
}

/* --- what is not proposed --- */

static bool is_credential(const struct policy *credentials, const char *path)
{
	for (size_t i = 0; i < credentials->nrules; i++) {
		const struct rule *rule = &credentials->rules[i];

		if (rule->effect == RULE_DENY && glob_match(rule->glob, path, strlen(path)))
			return true;
	}
	return false;
}

static int leave(struct proposal *p, size_t i, enum remark_kind kind)
{
	const struct use *use = &p->run.uses[i];

	p->left[i] = true;
	p->nleft += kind == REMARK_CREDENTIAL;
	return run_remark_use(&p->run, kind, use, use->perms);
}

/* Older links are allowed by rules that give, alone, all that may be done with the contents. */
static int want_link(struct proposal *p, size_t i, uint32_t has)
{
	struct use *use = &p->run.uses[i];

	use->perms |= has & BH_PERM_CONTENTS & ~(uint32_t)BH_PERM_CONNECT;
	p->wanted[i] = true;
	return run_remark_use(&p->run, REMARK_OLD_LINK, use, use->perms);
}

static int sift(struct proposal *p)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->run.nuses; i++) {
		struct use *use = &p->run.uses[i];
		uint32_t denied = 0;
		uint32_t has = rules_mask(p->base->rules, p->base->nrules, use->path, &denied);

		if (is_credential(p->credentials, use->path))
			r = leave(p, i, REMARK_CREDENTIAL);
		else if (use->perms & denied)
			r = leave(p, i, REMARK_DENIED);
		else if (use->old_link)
			r = want_link(p, i, has);
		else
			p->wanted[i] = use->perms & ~has;
	}
	return r;
}

/* --- rules --- */

static int make_rules(struct proposal *p, struct error *error)
{
	int r = includes_choose(p->base, p->request->options, &p->run, p->wanted, &p->includes,
				error);

	if (r < 0)
		return r;
	r = rows_fill(&p->rows, &p->run, p->wanted);
	if (r == 0)
		r = rows_merge_trees(&p->rows, &p->run, p->wanted);
	if (r < 0)
		return no_memory(error);
	r = proposal_close(p, error);
	return r == -ENOMEM ? no_memory(error) : r;
}

/* --- figures --- */

static void count(struct proposal *p)
{
	size_t most = FILES_MAX_WALK;

	for (size_t i = 0; i < p->run.nuses; i++)
		p->used += !p->left[i] && file_exists(p->run.uses[i].path);
	for (size_t i = 0; i < p->rows.n; i++) {
		if (p->rows.items[i].merged)
			continue;
		p->count++;
		p->allowed += files_matching(p->rows.items[i].glob, most);
	}
	for (size_t i = 0; i < p->includes.n; i++)
		p->allowed += p->includes.items[i].taken ? p->includes.items[i].allows : 0;
	p->lacking = p->chosen.lost || p->chosen.unowned || p->run.enforced;
	for (size_t i = 0; i < p->run.nremarks; i++)
		p->lacking |= remark_is_lack(p->run.remarks[i].kind);
}

/* --- the proof --- */

static int check_use(const struct proposal *p, const struct automaton *automaton, size_t i,
		     struct error *error)
{
	const struct use *use = &p->run.uses[i];
	struct bh_masks masks = {0};
	char rights[128];
	__u32 allow;

	automaton_walk(automaton, 0, use->path, strlen(use->path), &masks);
	allow = masks.allow;
	if (use->perms & BH_PERM_INTERP && allow & BH_PERM_EXEC)
		allow |= BH_PERM_INTERP;
	if (p->left[i] ? !(use->perms & ~allow) : !!(use->perms & ~allow))
		return error_set(error, EBADE,
				 "internal error, please report it: the proposal %s %s %s",
				 p->left[i] ? "allows" : "does not allow",
				 perms_to_text(use->perms & (p->left[i] ? ~0u : ~allow), rights,
					       sizeof(rights)),
				 use->path);
	return 0;
}

/* As check and the kernel would have it. */
static int prove(const struct proposal *p, const char *text, struct error *error)
{
	struct policy_options options = *p->request->options;
	_cleanup_(cleanup_policy_free) struct policy *policy = NULL;
	_cleanup_(automaton_done) struct automaton automaton = {0};
	int r;

	options.text = text;
	r = policy_load(p->request->policy, &options, &policy, error);
	if (r == 0)
		r = automaton_compile(policy->rules, policy->nrules, NULL, 0, &automaton, error);
	if (r < 0) {
		error_prefix(error, "what the run needs cannot be added to the policy");
		return r;
	}
	for (size_t i = 0; r == 0 && i < p->run.nuses; i++)
		r = check_use(p, &automaton, i, error);
	return r;
}

int learn(const struct learn_request *request, const struct events *events, struct learned *ret,
	  struct error *error)
{
	_cleanup_(proposal_done) struct proposal p = {.request = request};
	_cleanup_free_ char *text = NULL;
	int r = begin(&p, events, error);

	if (r == 0 && sift(&p) < 0)
		r = no_memory(error);
	if (r == 0)
		r = make_rules(&p, error);
	if (r < 0)
		return r;
	count(&p);
	r = proposal_write(&p, &text, error);
	if (r == 0)
		r = prove(&p, text, error);
	if (r < 0)
		return r;
	*ret = (struct learned){.text = TAKE_PTR(text),
				.lacking = p.lacking,
				.rows = p.count,
				.used = p.used,
				.allowed = p.allowed,
				.lost = p.chosen.lost + p.chosen.unowned,
				.refused = p.nleft};
	return 0;
}
