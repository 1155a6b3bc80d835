// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "load.h"

#include <errno.h>
#include <string.h>
#include <linux/capability.h>

#define CAP_BIT(cap) (1ULL << (cap))

/* What servers that drop to their own user, listen below 1024 and serve files of others need; none
 * of them reaches the kernel's configuration, other processes or devices. */
static const __u64 kept_caps = CAP_BIT(CAP_CHOWN) | CAP_BIT(CAP_DAC_OVERRIDE) |
			       CAP_BIT(CAP_FOWNER) | CAP_BIT(CAP_FSETID) | CAP_BIT(CAP_SETUID) |
			       CAP_BIT(CAP_SETGID) | CAP_BIT(CAP_NET_BIND_SERVICE);

static const struct choice modes[] = {
	{"enforce", BH_MODE_ENFORCE, NULL},
	{"audit", BH_MODE_AUDIT, NULL},
	{NULL, 0, NULL},
};
static const struct choice existing_actions[] = {
	{"refuse", EXISTING_REFUSE, NULL},
	{"report", EXISTING_REPORT, NULL},
	{"revoke", EXISTING_REVOKE, NULL},
	{NULL, 0, NULL},
};
static const struct choice existing_mappings[] = {
	{"refuse", EXISTING_REFUSE, NULL},
	{"report", EXISTING_REPORT, NULL},
	{"revoke", 0, "a mapping cannot be revoked: write refuse or report"},
	{NULL, 0, NULL},
};
static const struct choice existing_keeps[] = {
	{"stdio", KEEP_STDIO, NULL},
	{"journal", KEEP_JOURNAL, NULL},
	{"notify", KEEP_NOTIFY, NULL},
	{NULL, 0, NULL},
};
static const struct choice proc_views[] = {
	{"self", PROC_SELF, NULL},
	{"compartment", PROC_COMPARTMENT, NULL},
	{"none", PROC_NONE, NULL},
	{NULL, 0, NULL},
};
const struct choice settings_truth[] = {
	{"true", true, NULL},
	{"false", false, NULL},
	{NULL, 0, NULL},
};
const struct choice settings_hardlinks[] = {
	{"allow", true, NULL},
	{"refuse", false, NULL},
	{NULL, 0, NULL},
};

/* Keys of the main file, and what to write where one is required and missing. */
static const struct main_key {
	const char *key;
	const char *write; /* NULL: may be left out */
} main_keys[] = {
	{"name", "name: a-name"},
	{"mode", "mode: enforce"},
	{"network", "network: none"},
	{"existing", NULL},
	{"proc", NULL},
	{"nested-sandbox", NULL},
	{"hardlinks", NULL},
	{"limits", NULL},
	{"environment", NULL},
	{"vars", NULL},
	{"tests", NULL},
};
#define NMAIN_KEYS (sizeof(main_keys) / sizeof(*main_keys))

static void list_words(const struct choice *table, char *text, size_t size)
{
	size_t n = 0;

	for (; table->word && n < size; table++) {
		if (!table->refusal)
			n += (size_t)snprintf(text + n, size - n, "%s%s", n ? " or " : "",
					      table->word);
	}
}

int settings_choose(struct loader *loader, const struct place *place, const char *what,
		    const char *word, const struct choice *table, int *ret)
{
	const struct choice *choice;
	char known[128] = "";

	for (choice = table; choice->word; choice++) {
		if (strcmp(choice->word, word))
			continue;
		if (choice->refusal)
			return error_at(loader->error, place, "%s: %s", what, choice->refusal);
		*ret = choice->value;
		return 0;
	}
	list_words(table, known, sizeof(known));
	return error_at(loader->error, place, "%s: \"%s\" is no value of it: write %s", what, word,
			known);
}

/* A single word under a key of the file; *ret stays what it was when the key is not there. */
static int take_choice(struct loader *loader, const struct unit *unit, const char *path,
		       const char *word, const struct choice *table, int *ret)
{
	const struct outline_entry *entry = outline_find(&unit->outline, "%s", path);

	if (!entry)
		return 0;
	return settings_choose(loader, &entry->place, path, word, table, ret);
}

int settings_check_version(struct loader *loader, const struct unit *unit)
{
	const struct outline_entry *entry = outline_find(&unit->outline, "version");
	const struct place start = {unit->path, 1, 1};

	if (!entry)
		return error_at(loader->error, &start, "no version: write version: 1");
	if (strcmp(unit->text->version, "1"))
		return error_at(loader->error, &entry->place,
				"version %s is not known here: write version: 1",
				unit->text->version);
	return 0;
}

int settings_check_include(struct loader *loader, const struct unit *unit)
{
	const struct outline_entry *entry;
	size_t i;

	for (i = 0; i < NMAIN_KEYS; i++) {
		entry = outline_find(&unit->outline, "%s", main_keys[i].key);
		if (entry)
			return error_at(loader->error, &entry->key,
					"%s belongs in the main file: an include has version, "
					"include, files, exec and unix",
					main_keys[i].key);
	}
	return 0;
}

/* Has rules or includes, and nothing that only a main file has. */
static bool is_include(const struct unit *unit)
{
	const struct text *text = unit->text;

	for (size_t i = 0; i < NMAIN_KEYS; i++)
		if (outline_find(&unit->outline, "%s", main_keys[i].key))
			return false;
	return text->files_count || text->exec_count || text->include_count || text->unix_sockets;
}

static int check_required(struct loader *loader, const struct unit *unit)
{
	const struct place start = {unit->path, 1, 1};
	size_t i;

	if (is_include(unit))
		return error_at(
			loader->error, &start,
			"no name, mode and network: this may be an include, which is checked by a "
			"policy that includes it; a policy of its own needs name: a-name, "
			"mode: enforce and network: none");
	for (i = 0; i < NMAIN_KEYS; i++) {
		if (main_keys[i].write && !outline_find(&unit->outline, "%s", main_keys[i].key))
			return error_at(loader->error, &start, "no %s: write %s", main_keys[i].key,
					main_keys[i].write);
	}
	return 0;
}

static int take_name(struct loader *loader, const struct unit *unit)
{
	const struct outline_entry *entry = outline_find(&unit->outline, "name");
	const char *name = unit->text->name;

	if (!name[0] || name[0] == '-' ||
	    name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")])
		return error_at(loader->error, &entry->place,
				"name \"%s\": write a-z, 0-9 and -, not beginning with -", name);
	if (strlen(name) >= BH_NAME_SIZE)
		return error_at(loader->error, &entry->place, "name: longer than %d bytes",
				BH_NAME_SIZE - 1);
	strcpy(loader->policy->name, name);
	return 0;
}

static int take_keeps(struct loader *loader, const struct unit *unit)
{
	const struct text_existing *existing = unit->text->existing;
	const struct outline_entry *entry;
	unsigned int i;
	int keep, r;

	for (i = 0; existing && i < existing->keep_count; i++) {
		entry = outline_find(&unit->outline, "existing.keep[%u]", i);
		r = settings_choose(loader, &entry->place, "keep", existing->keep[i],
				    existing_keeps, &keep);
		if (r < 0)
			return r;
		loader->policy->keep |= (unsigned int)keep;
	}
	return 0;
}

/* What is not said of a kind is what is said of all. */
static int take_existing(struct loader *loader, const struct unit *unit)
{
	static const struct text_existing none;
	const struct text_existing *text = unit->text->existing ?: &none;
	const struct {
		const char *path, *word;
		const struct choice *table;
	} kinds[EXISTING_KINDS] = {
		[EXISTING_FILES] = {"existing.files", text->files, existing_actions},
		[EXISTING_SOCKETS] = {"existing.sockets", text->sockets, existing_actions},
		[EXISTING_MAPPINGS] = {"existing.mappings", text->mappings, existing_mappings},
		[EXISTING_OTHERS] = {"existing.others", text->others, existing_actions},
	};
	int all = EXISTING_REFUSE, value;

	if (take_choice(loader, unit, "existing.default", text->fallback, existing_actions, &all) <
	    0)
		return -EINVAL;
	for (int kind = 0; kind < EXISTING_KINDS; kind++) {
		value = all;
		if (take_choice(loader, unit, kinds[kind].path, kinds[kind].word, kinds[kind].table,
				&value) < 0)
			return -EINVAL;
		loader->policy->existing[kind] = (enum existing_action)value;
	}
	return take_keeps(loader, unit);
}

int settings_take(struct loader *loader, const struct unit *unit)
{
	const struct text *text = unit->text;
	const struct {
		const char *path, *word;
		const struct choice *table;
	} words[] = {
		{"mode", text->mode, modes},
		{"proc", text->proc, proc_views},
		{"nested-sandbox", text->nested, settings_truth},
		{"hardlinks", text->hardlinks, settings_hardlinks},
	};
	int values[] = {BH_MODE_ENFORCE, PROC_NONE, false, false};
	size_t i;

	if (check_required(loader, unit) < 0 || take_name(loader, unit) < 0 ||
	    take_existing(loader, unit) < 0 || limits_take(loader, unit) < 0)
		return -EINVAL;
	for (i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (take_choice(loader, unit, words[i].path, words[i].word, words[i].table,
				&values[i]) < 0)
			return -EINVAL;
	}
	loader->policy->mode = (enum bh_mode)values[0];
	loader->policy->proc = (enum proc_view)values[1];
	loader->policy->nested = values[2];
	loader->policy->hardlinks = values[3];
	loader->policy->caps = kept_caps;
	return network_take(loader, unit);
}
