// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* From an event's number to the question that it was the answer to. */
#include "explain.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include "audit/escape.h"
#include "compart/compart.h"
#include "compart/control.h"
#include "compart/policies.h"

DEFINE_CLEANUP(struct policy *, policy_free)

/* --- the record --- */

/* The newest record of each compartment that has one of this number. */
struct found {
	json_t *records[BH_MAX_COMPARTMENTS];
	size_t n;
	json_int_t last; /* id of the newest of all */
};

static void found_free(struct found *found)
{
	for (__u32 id = 0; id < BH_MAX_COMPARTMENTS; id++)
		json_decref(found->records[id]);
	free(found);
}
DEFINE_CLEANUP(struct found *, found_free)

static json_int_t id_of(const json_t *record, const char *field)
{
	return json_integer_value(json_object_get(record, field));
}

static bool is_called(const json_t *object, json_int_t id, const char *name)
{
	char number[24];

	snprintf(number, sizeof(number), "%lld", (long long)id);
	return !strcmp(text_of(object, "name"), name) || !strcmp(number, name);
}

static bool is_wanted(const json_t *record, json_int_t seq, const char *compartment)
{
	json_int_t id = id_of(record, "compartment");

	if (strcmp(text_of(record, "kind"), "violation") != 0 || id_of(record, "seq") != seq)
		return false;
	if (id < 0 || id >= BH_MAX_COMPARTMENTS)
		return false;
	/* What a canary provoked is of no compartment that has a name. */
	return compartment ? is_called(record, id, compartment)
			   : json_is_string(json_object_get(record, "name"));
}

static int search_file(const char *path, json_int_t seq, const char *compartment,
		       struct found *found, struct error *error)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;

	if (!file && errno == ENOENT)
		return 0;
	if (!file)
		return error_set(error, errno, "%s: %s", path, strerror(errno));
	while (getline(&line, &size, file) > 0) {
		json_t *record = json_loads(line, 0, NULL);
		json_t **slot;

		if (!record || !is_wanted(record, seq, compartment)) {
			json_decref(record);
			continue;
		}
		slot = &found->records[id_of(record, "compartment")];
		found->n += !*slot;
		found->last = id_of(record, "compartment");
		json_decref(*slot);
		*slot = record;
	}
	return 0;
}

/* The compartment that the record is of, if it is attached: an id alone may be another's by now, and
 * the name tells as far as it can. */
static const json_t *attached(const json_t *compartments, const json_t *record)
{
	const json_t *c;
	size_t i;

	json_array_foreach (compartments, i, c)
		if (id_of(c, "id") == id_of(record, "compartment") &&
		    !strcmp(text_of(c, "name"), text_of(record, "name")) &&
		    strcmp(text_of(c, "state"), "released") != 0 &&
		    strcmp(text_of(c, "state"), "gone") != 0)
			return c;
	return NULL;
}

/* Processes stand in it now: of a unit that started anew, not what is left of its last run. */
static bool is_running(const json_t *compartments, const json_t *record)
{
	const json_t *c = attached(compartments, record);

	return c && strcmp(text_of(c, "state"), "ended") != 0;
}

static void drop(struct found *found, __u32 id)
{
	json_decref(found->records[id]);
	found->records[id] = NULL;
	found->n--;
}

/* A unit's every start is a compartment of the same name: what is attached now is meant, and of what
 * has ended the last. */
static void choose(struct found *found, const json_t *compartments)
{
	const json_t *last = found->n ? found->records[found->last] : NULL;
	size_t live = 0;

	for (__u32 id = 0; id < BH_MAX_COMPARTMENTS; id++)
		live += found->records[id] && is_running(compartments, found->records[id]);
	for (__u32 id = 0; id < BH_MAX_COMPARTMENTS; id++) {
		const json_t *record = found->records[id];

		if (!record || record == last)
			continue;
		if (live ? !is_running(compartments, record)
			 : !strcmp(text_of(record, "name"), text_of(last, "name")))
			drop(found, id);
	}
	if (live && !is_running(compartments, last))
		drop(found, (__u32)found->last);
}

static int refuse_several(const struct found *found, const char *seq, struct error *error)
{
	char list[512] = "";
	size_t used = 0;

	for (__u32 id = 0; id < BH_MAX_COMPARTMENTS && used < sizeof(list); id++)
		if (found->records[id])
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s (%u)",
						 used ? ", " : "",
						 text_of(found->records[id], "name"), id);
	return error_set(
		error, ENOTUNIQ,
		"%zu compartments have an event %s: say whose by --compartment, name or id: "
		"%s",
		found->n, seq, list);
}

static int seq_parse(const char *text, json_int_t *ret, struct error *error)
{
	char *end;

	errno = 0;
	*ret = strtoll(text, &end, 10);
	if (!errno && end != text && !*end && *ret > 0)
		return 0;
	return error_set(error, EINVAL,
			 "\"%s\" is no number of an event: write the N of the #N that bulkhead "
			 "events shows",
			 text);
}

int event_find(const char *const *files, const char *seq, const char *compartment,
	       const json_t *compartments, json_t **ret, struct error *error)
{
	_cleanup_(cleanup_found_free) struct found *found = calloc(1, sizeof(*found));
	json_int_t number = 0;
	int r = found ? seq_parse(seq, &number, error) : error_set(error, ENOMEM, "out of memory");

	for (; r == 0 && *files; files++)
		r = search_file(*files, number, compartment, found, error);
	if (r)
		return r;
	choose(found, compartments);
	if (found->n > 1)
		return refuse_several(found, seq, error);
	for (__u32 id = 0; id < BH_MAX_COMPARTMENTS; id++) {
		if (!found->records[id])
			continue;
		*ret = TAKE_PTR(found->records[id]);
		return 0;
	}
	return error_set(error, ENOENT,
			 "no event %s%s%s in " CONTROL_EVENTS ": see bulkhead events", seq,
			 compartment ? " of " : "", compartment ?: "");
}

/* --- its compartment --- */

/* What status knows of it; its strings are escaped there. */
struct known {
	char *policy, *include_dir, *cgroup, *digest;
	char **vars;
	json_int_t generation;
};

static void known_done(struct known *known)
{
	for (char **v = known->vars; v && *v; v++)
		free(*v);
	free(known->vars);
	free(known->policy);
	free(known->include_dir);
	free(known->cgroup);
	free(known->digest);
}

static int take_known(const json_t *c, struct known *known)
{
	const json_t *vars = json_object_get(c, "vars");

	known->generation = id_of(c, "generation");
	known->policy = unescape_bytes(text_of(c, "policy"));
	known->include_dir = unescape_bytes(text_of(c, "include_dir"));
	known->cgroup = unescape_bytes(text_of(c, "cgroup"));
	known->digest = unescape_bytes(text_of(c, "digest"));
	known->vars = calloc(json_array_size(vars) + 1, sizeof(*known->vars));
	for (size_t i = 0; known->vars && i < json_array_size(vars); i++)
		known->vars[i] = unescape_bytes(json_string_value(json_array_get(vars, i)) ?: "");
	return known->policy && known->include_dir && known->cgroup && known->digest && known->vars
		       ? 0
		       : -ENOMEM;
}

static int know(const json_t *record, const json_t *compartments, struct known *known,
		struct error *error)
{
	const json_t *c = attached(compartments, record);

	if (c)
		return take_known(c, known) ? error_set(error, ENOMEM, "out of memory") : 0;
	return error_set(error, ENOENT,
			 "compartment %s (%lld) is not attached any more, so its policy is not "
			 "known: name the file, bulkhead explain POLICY --event %lld",
			 text_of(record, "name"), (long long)id_of(record, "compartment"),
			 (long long)id_of(record, "seq"));
}

/* --- the question --- */

static __u32 rights_of(const json_t *record)
{
	const json_t *word;
	__u32 perms = 0;
	size_t i;

	json_array_foreach (json_object_get(record, "perms"), i, word)
		perms |= perm_from_text(json_string_value(word) ?: "");
	return perms;
}

/* The rules were asked: one denied it, or none allowed it. */
static bool is_by_rules(const json_t *record)
{
	const char *reason = text_of(record, "reason");

	return !strcmp(reason, "no-rule") || !strcmp(reason, "denied") ||
	       !strcmp(reason, "written-inside");
}

/* Of procfs the event has the process's number, and the kernel asked the rules about /proc/self: any
 * other number has a reason of its own. */
static char *as_self(const json_t *record, const char *path)
{
	size_t head = strlen("/proc/");
	size_t digits = strncmp(path, "/proc/", head) ? 0 : strspn(path + head, "0123456789");
	char *text = NULL;

	if (!digits || !is_by_rules(record))
		return strdup(path);
	return asprintf(&text, "/proc/self%s", path + head + digits) < 0 ? NULL : text;
}

/* As people write it; NULL when it is about something else, or the agent could not tell. */
static char *path_of(const json_t *record)
{
	const json_t *object = json_object_get(record, "object");
	const char *path = json_string_value(json_object_get(object, "path"));
	_cleanup_free_ char *bytes = NULL;

	if (path && !json_object_get(object, "superblock"))
		bytes = unescape_bytes(path);
	return bytes ? as_self(record, bytes) : NULL;
}

/* No rule was asked, so none is to be named: the kernel's own reason is all there is. */
static int answer_without(const json_t *record, const struct policy *policy, json_t **ret)
{
	bool noted = !strcmp(text_of(record, "verdict"), "noted");

	*ret = json_pack("{s:{s:s}, s:s, s:b, s:O?, s:O?, s:n, s:n, s:O?, s:[], s:[], s:n, s:[]}",
			 "policy", "name", policy->name, "verdict", noted ? "allowed" : "refused",
			 "quiet", 0, "reason", json_object_get(record, "reason"), "reason_text",
			 json_object_get(record, "reason_text"), "rule", "path", "rights",
			 json_object_get(record, "perms"), "each", "links", "place", "notes");
	if (!*ret)
		return -ENOMEM;
	if (json_object_get(json_object_get(record, "object"), "superblock"))
		explain_note(*ret,
			     "the agent could not tell the file's name: it stands on a filesystem "
			     "that no member's mounts show");
	return 0;
}

static void note_changes(const json_t *record, const struct known *known,
			 const struct policy *policy, json_t *answer)
{
	json_int_t then = id_of(record, "generation");
	char digest[POLICY_DIGEST_SIZE];
	bool edited =
		*known->digest && strcmp(known->digest, policy_digest_text(policy, digest)) != 0;

	json_object_set_new(answer, "generation", json_integer(known->generation));
	json_object_set_new(answer, "edited", json_boolean(edited));
	if (then != known->generation)
		explain_note(
			answer,
			"the policy was loaded anew since: generation %lld refused it, %lld is in "
			"force now, and this is what that one says",
			(long long)then, (long long)known->generation);
	if (edited)
		explain_note(
			answer,
			"%s, or a file that it includes, was edited after it was loaded: this is "
			"what it says now, which is not in force before bulkhead reload",
			policy->path);
}

static void note_contradiction(const json_t *record, json_t *answer)
{
	if (!explain_is_allowed(answer) || !is_by_rules(record))
		return;
	explain_note(answer, "it was refused then and is allowed by this text now%s",
		     json_is_null(json_object_get(answer, "place"))
			     ? ": the policy changed, or another name of the file is denied"
			     : ": policy or mounts changed since");
}

/* Root can look through the members' eyes; where they are gone, names are taken as told. */
static int ask_event(struct inquiry *inquiry, const struct known *known, json_t **ret,
		     struct error *error)
{
	struct error why = {0};
	int r = -EACCES;

	if (known->cgroup && *known->cgroup && geteuid() == 0) {
		inquiry->cgroup = known->cgroup;
		r = inquire(inquiry, ret, &why);
		if (r == -EBADE)
			return error_set(error, EBADE, "%s", why.text);
	}
	if (r == 0)
		return 0;
	inquiry->cgroup = NULL;
	r = inquire(inquiry, ret, error);
	if (r == 0 && *why.text)
		explain_note(*ret, "mounts of the members are not looked at: %s", why.text);
	return r;
}

static int explain_record(json_t *record, const struct policy *policy, const struct known *known,
			  json_t **ret, struct error *error)
{
	_cleanup_free_ char *path = path_of(record);
	struct inquiry inquiry = {
		.policy = policy, .path = path, .perms = rights_of(record), .literal = true};
	int r;

	/* What is revoked is so whatever rules say. */
	if (!strcmp(text_of(record, "reason"), "revoked"))
		inquiry.perms = 0;
	if (!path || !inquiry.perms)
		r = answer_without(record, policy, ret);
	else
		r = ask_event(&inquiry, known, ret, error);
	if (r)
		return r;
	json_object_set(*ret, "event", record);
	if (known->policy)
		note_changes(record, known, policy, *ret);
	else
		explain_note(*ret,
			     "%s is taken as you named it: what was enforced may have differed",
			     policy->path);
	if (path && inquiry.perms)
		note_contradiction(record, *ret);
	return 0;
}

int explain_event(const struct arguments *arguments, json_t **ret, struct error *error)
{
	static const char *const files[] = {CONTROL_EVENTS ".1", CONTROL_EVENTS, NULL};
	struct policy_options options = {.include_dir = policies_dir(), .vars = arguments->vars};
	_cleanup_(cleanup_policy_free) struct policy *policy = NULL;
	_cleanup_(known_done) struct known known = {0};
	_cleanup_json_ json_t *record = NULL;
	_cleanup_json_ json_t *status = NULL;
	struct error why = {0};
	int unknown = status_ask(&status, &why);
	const json_t *compartments = json_object_get(status, "compartments");
	int r = event_find(files, arguments->event, arguments->compartment, compartments, &record,
			   error);

	if (r == 0 && unknown && !arguments->nwords)
		return error_set(error, -unknown, "%s", why.text);
	if (r == 0 && !arguments->nwords) {
		r = know(record, compartments, &known, error);
		options.vars = (const char *const *)known.vars;
		if (known.include_dir && *known.include_dir)
			options.include_dir = known.include_dir;
	}
	if (r == 0)
		r = policy_load(arguments->nwords ? arguments->words[0] : known.policy, &options,
				&policy, error);
	if (r && known.policy)
		error_prefix(error, "the policy in force cannot be read again to explain it");
	return r ? r : explain_record(record, policy, &known, ret, error);
}

/* --- a cgroup --- */

static bool is_unit(const char *unit, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(unit, name, n) && (!unit[n] || !strcmp(unit + n, ".service"));
}

/* Of the compartments of this name, or around this unit: the only one. */
static int cgroup_of_compartment(const char *name, char **ret, struct error *error)
{
	_cleanup_json_ json_t *status = NULL;
	const json_t *c, *one = NULL;
	size_t i, n = 0;

	if (status_ask(&status, NULL))
		return -ENOENT;
	json_array_foreach (json_object_get(status, "compartments"), i, c) {
		const char *unit = text_of(c, "unit");

		if (!is_called(c, id_of(c, "id"), name) && !(*unit && is_unit(unit, name)))
			continue;
		one = c;
		n++;
	}
	if (!n)
		return -ENOENT;
	if (n > 1)
		return error_set(error, ENOTUNIQ,
				 "%zu compartments are called %s: give an id (bulkhead status)", n,
				 name);
	*ret = unescape_bytes(text_of(one, "cgroup"));
	return *ret ? 0 : error_set(error, ENOMEM, "out of memory");
}

static int cgroup_of_unit(const char *name, char **ret, struct error *error)
{
	char **cgroups = NULL, **names = NULL;
	int r = unit_cgroups(name, &cgroups, &names, NULL);

	if (r)
		return error_set(
			error, -r,
			"%s: no compartment, and no unit that runs, is called that: write a "
			"cgroup's directory",
			name);
	if (cgroups && cgroups[0] && !cgroups[1])
		*ret = TAKE_PTR(cgroups[0]);
	else
		r = error_set(error, ENOTUNIQ, "%s: not one running unit: name an instance", name);
	for (char **p = cgroups; p && *p; p++)
		free(*p);
	for (char **p = names; p && *p; p++)
		free(*p);
	free(cgroups);
	free(names);
	return r;
}

int cgroup_named(const char *text, char **ret, struct error *error)
{
	int r;

	if (geteuid())
		return error_set(
			error, EPERM,
			"--as-seen-by needs root: it looks through other processes' mounts");
	if (strchr(text, '/')) {
		*ret = realpath(text, NULL);
		return *ret ? 0 : error_set(error, errno, "%s: %s", text, strerror(errno));
	}
	r = cgroup_of_compartment(text, ret, error);
	return r == -ENOENT ? cgroup_of_unit(text, ret, error) : r;
}
