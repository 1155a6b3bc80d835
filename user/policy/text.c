// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <cyaml/cyaml.h>

#define GIVEN (CYAML_FLAG_OPTIONAL | CYAML_FLAG_POINTER)

/* Words even where a number or a truth value is meant: libcyaml takes "jit: flase" for true. */
static const cyaml_schema_value_t word = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, CYAML_UNLIMITED),
};

#define WORD(key, type, member) CYAML_FIELD_STRING_PTR(key, GIVEN, type, member, 0, CYAML_UNLIMITED)
#define WORDS(key, type, member) \
	CYAML_FIELD_SEQUENCE(key, GIVEN, type, member, &word, 0, CYAML_UNLIMITED)
#define LIST(key, type, member, entry) \
	CYAML_FIELD_SEQUENCE(key, GIVEN, type, member, entry, 0, CYAML_UNLIMITED)

static const cyaml_schema_field_t rule_fields[] = {
	WORDS("allow", struct text_rule, allow),	WORDS("deny", struct text_rule, deny),
	WORDS("quiet", struct text_rule, quiet),	WORDS("audit", struct text_rule, audit),
	WORDS("tripwire", struct text_rule, tripwire),	WORDS("on", struct text_rule, on),
	WORD("hardlinks", struct text_rule, hardlinks), CYAML_FIELD_END,
};
static const cyaml_schema_value_t rule_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct text_rule, rule_fields),
};

static const cyaml_schema_field_t exec_fields[] = {
	WORDS("on", struct text_exec, on),
	WORD("jit", struct text_exec, jit),
	WORD("written-inside", struct text_exec, written_inside),
	WORD("hardlinks", struct text_exec, hardlinks),
	CYAML_FIELD_END,
};
static const cyaml_schema_value_t exec_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct text_exec, exec_fields),
};

static const cyaml_schema_field_t unix_fields[] = {
	WORDS("connect", struct text_unix, connect),
	WORDS("quiet", struct text_unix, quiet),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t existing_fields[] = {
	WORD("default", struct text_existing, fallback),
	WORD("files", struct text_existing, files),
	WORD("sockets", struct text_existing, sockets),
	WORD("mappings", struct text_existing, mappings),
	WORD("others", struct text_existing, others),
	WORDS("keep", struct text_existing, keep),
	CYAML_FIELD_END,
};

#define PROBE_FIELD(name, text, bit) WORD(text, struct text_probe, path[bit]),
static const cyaml_schema_field_t probe_fields[] = {BH_PERMS(PROBE_FIELD) CYAML_FIELD_END};
_Static_assert(1 << TEXT_RIGHTS == BH_PERM_ALL + 1, "one path for each right");

static const cyaml_schema_field_t test_fields[] = {
	CYAML_FIELD_MAPPING_PTR("refused", GIVEN, struct text_test, refused, probe_fields),
	CYAML_FIELD_MAPPING_PTR("allowed", GIVEN, struct text_test, allowed, probe_fields),
	CYAML_FIELD_END,
};
static const cyaml_schema_value_t test_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct text_test, test_fields),
};

static const cyaml_schema_field_t destination_fields[] = {
	WORD("to", struct text_destination, to),
	WORD("discloses", struct text_destination, discloses),
	WORD("max-upload", struct text_destination, max_upload),
	WORD("tls", struct text_destination, tls),
	CYAML_FIELD_END,
};
static const cyaml_schema_value_t destination_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct text_destination, destination_fields),
};

static const cyaml_schema_field_t network_fields[] = {
	WORD("loopback", struct text_network, loopback),
	WORDS("listen", struct text_network, listen),
	LIST("egress", struct text_network, egress, &destination_value),
	WORD("proxy", struct text_network, proxy),
	CYAML_FIELD_END,
};

#define LIMIT_FIELD(name, key, form, fallback, least, most, what) \
	WORD(key, struct text_limits, values[LIMIT_##name]),
static const cyaml_schema_field_t limits_fields[] = {LIMITS_ROWS(LIMIT_FIELD) CYAML_FIELD_END};

static const cyaml_schema_field_t environment_fields[] = {
	WORD("home", struct text_environment, home),
	WORD("tmpdir", struct text_environment, tmpdir),
	WORDS("pass", struct text_environment, pass),
	WORDS("set", struct text_environment, set),
	CYAML_FIELD_END,
};

/* `network_` is the field of that key. */
#define TEXT_FIELDS(network_)                                                                   \
	WORD("version", struct text, version), WORD("name", struct text, name),                 \
		WORDS("include", struct text, include), WORDS("vars", struct text, vars),       \
		WORD("mode", struct text, mode),                                                \
		CYAML_FIELD_MAPPING_PTR("existing", GIVEN, struct text, existing,               \
					existing_fields),                                       \
		WORD("proc", struct text, proc), WORD("nested-sandbox", struct text, nested),   \
		WORD("hardlinks", struct text, hardlinks),                                      \
		CYAML_FIELD_MAPPING_PTR("environment", GIVEN, struct text, environment,         \
					environment_fields),                                    \
		CYAML_FIELD_MAPPING_PTR("limits", GIVEN, struct text, limits, limits_fields),   \
		LIST("files", struct text, files, &rule_value),                                 \
		LIST("exec", struct text, exec, &exec_value),                                   \
		CYAML_FIELD_MAPPING_PTR("unix", GIVEN, struct text, unix_sockets, unix_fields), \
		network_, LIST("tests", struct text, tests, &test_value), CYAML_FIELD_END

/* libcyaml knows no value that is a word in one file and a mapping in another: there is a schema for each. */
static const cyaml_schema_field_t closed_fields[] = {
	TEXT_FIELDS(WORD("network", struct text, closed)),
};
static const cyaml_schema_value_t closed_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct text, closed_fields),
};
static const cyaml_schema_field_t open_fields[] = {
	TEXT_FIELDS(
		CYAML_FIELD_MAPPING_PTR("network", GIVEN, struct text, network, network_fields)),
};
static const cyaml_schema_value_t open_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct text, open_fields),
};

static const cyaml_schema_value_t *schema_of(const struct outline *outline)
{
	const struct outline_entry *network = outline_find(outline, "network");

	return network && network->kind == OUTLINE_MAPPING ? &open_value : &closed_value;
}

/* Where the advice for all keys would lead astray. */
static const struct key_advice {
	const char *path;
	const char *form;  /* of another kind: it must be this */
	const char *empty; /* instead of leaving it out */
} advices[] = {
	{"vars", OUTLINE_VARS_FORM, NULL},
	{"network", OUTLINE_NETWORK_FORM, "write network: none"},
	{"network.egress", NULL,
	 "where nothing is to be reached, write network: none, or loopback: own alone"},
};

static const struct key_advice *find_advice(const char *path)
{
	static const struct key_advice none;
	size_t i;

	for (i = 0; i < sizeof(advices) / sizeof(*advices); i++) {
		if (!strcmp(advices[i].path, path))
			return &advices[i];
	}
	return &none;
}

static const cyaml_config_t config = {
	.mem_fn = cyaml_mem,
	.log_level = CYAML_LOG_ERROR,
	.flags = CYAML_CFG_NO_ALIAS,
};

static enum outline_kind kind_of(const cyaml_schema_value_t *schema)
{
	if (schema->type == CYAML_MAPPING)
		return OUTLINE_MAPPING;
	return schema->type == CYAML_SEQUENCE ? OUTLINE_LIST : OUTLINE_WORD;
}

static const cyaml_schema_value_t *find_field(const cyaml_schema_value_t *schema, const char *key,
					      size_t length)
{
	const cyaml_schema_field_t *field;

	if (schema->type != CYAML_MAPPING)
		return NULL;
	for (field = schema->mapping.fields; field->key; field++) {
		if (strlen(field->key) == length && !memcmp(field->key, key, length))
			return &field->value;
	}
	return NULL;
}

/* The schema of an outline path; NULL for an unknown key, *ret_parent being where it was looked
 * for. */
static const cyaml_schema_value_t *find_schema(const cyaml_schema_value_t *schema, const char *path,
					       const cyaml_schema_value_t **ret_parent)
{
	size_t length;

	while (schema && *path) {
		*ret_parent = schema;
		if (*path == '[') {
			schema = schema->type == CYAML_SEQUENCE ? schema->sequence.entry : NULL;
			path += strcspn(path, "]") + 1;
			continue;
		}
		path += *path == '.';
		length = strcspn(path, ".[");
		schema = find_field(schema, path, length);
		path += length;
	}
	return schema;
}

static int refuse_key(const struct outline_entry *entry, const cyaml_schema_value_t *parent,
		      struct error *error)
{
	const cyaml_schema_field_t *field = parent->mapping.fields;
	const char *key = strrchr(entry->path, '.');
	char known[256] = "";
	size_t n = 0;

	for (; field->key && n < sizeof(known); field++)
		n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s", n ? ", " : "",
				      field->key);
	return error_at(error, &entry->key, "unknown key %s: write one of %s",
			key ? key + 1 : entry->path, known);
}

/* Of its kind, and no list empty. */
static int check_value(const struct outline_entry *entry, enum outline_kind kind,
		       struct error *error)
{
	static const char *const kinds[] = {
		[OUTLINE_WORD] = "one word",
		[OUTLINE_LIST] = "a list, as in [a, b]",
		[OUTLINE_MAPPING] = "a mapping, as in {key: value}",
	};
	const struct key_advice *advice = find_advice(entry->path);
	const char *what = *entry->path ? entry->path : "a policy";

	if (kind != entry->kind)
		return error_at(error, &entry->place, "%s must be %s", what,
				advice->form ?: kinds[kind]);
	if (entry->kind != OUTLINE_WORD && !entry->entries)
		return error_at(error, &entry->place, "%s is empty, which would mean nothing: %s",
				what, advice->empty ?: "fill it or leave it out");
	return 0;
}

/* Every key known, every value as it has to be. */
static int check_shape(const struct outline *outline, const cyaml_schema_value_t *whole,
		       struct error *error)
{
	const cyaml_schema_value_t *schema, *parent = whole;
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < outline->n; i++) {
		schema = find_schema(whole, outline->entries[i].path, &parent);
		if (!schema)
			return refuse_key(&outline->entries[i], parent, error);
		r = check_value(&outline->entries[i], kind_of(schema), error);
	}
	return r;
}

int source_text(const char *yaml, size_t length, const struct outline *outline, struct text **ret,
		struct error *error)
{
	const struct place start = {.file = outline->file, .line = 1, .column = 1};
	const cyaml_schema_value_t *schema = schema_of(outline);
	struct text *text = NULL;
	cyaml_err_t r;

	if (check_shape(outline, schema, error) < 0)
		return -EINVAL;
	if (!outline->n)
		return error_at(error, &start, "empty: a policy begins with version: 1");
	r = cyaml_load_data((const uint8_t *)yaml, length, &config, schema, (cyaml_data_t **)&text,
			    NULL);
	if (r == CYAML_ERR_OOM)
		return error_set(error, ENOMEM, "no memory to read the policy");
	if (r != CYAML_OK || !text)
		return error_at(error, &start, "not a policy: %s", cyaml_strerror(r));
	*ret = text;
	return 0;
}

void text_free(struct text *text)
{
	if (text)
		cyaml_free(&config, text->network ? &open_value : &closed_value, text, 0);
}
