// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "config.h"

#include <cyaml/cyaml.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include "base/duration.h"
#include "policy/outline.h"
#include "policy/source.h"
#include "reach.h"
#include "resolve.h"

#define DEFAULT_SYNTHETIC "198.18.0.0/15"
#define DEFAULT_CONNECT_MS 30000
/* A model may think for minutes before the first byte of its answer. */
#define DEFAULT_IDLE_MS (15 * 60 * 1000)
#define DEFAULT_TOTAL_MS (24 * 3600 * 1000)

/* As written. */
struct written {
	char **upstreams, **nat64;
	char *synthetic, *connect, *idle, *total;
	unsigned int upstreams_count, nat64_count;
};

#define GIVEN (CYAML_FLAG_OPTIONAL | CYAML_FLAG_POINTER)
#define WORD(key, member) \
	CYAML_FIELD_STRING_PTR(key, GIVEN, struct written, member, 0, CYAML_UNLIMITED)
#define WORDS(key, member) \
	CYAML_FIELD_SEQUENCE(key, GIVEN, struct written, member, &word, 0, CYAML_UNLIMITED)

static const cyaml_schema_value_t word = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, CYAML_UNLIMITED),
};
static const cyaml_schema_field_t fields[] = {
	WORDS("upstreams", upstreams),
	WORD("synthetic", synthetic),
	WORDS("nat-prefixes", nat64),
	WORD("connect", connect),
	WORD("idle", idle),
	WORD("total", total),
	CYAML_FIELD_END,
};
static const cyaml_schema_value_t schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct written, fields),
};
static const cyaml_config_t cyaml = {
	.mem_fn = cyaml_mem,
	.log_level = CYAML_LOG_ERROR,
	.flags = CYAML_CFG_NO_ALIAS,
};

/* On its way from text to struct. */
struct reading {
	struct outline outline;
	struct source source;
	struct written *written;
	struct egress_config *config;
	struct error *error;
};

static const cyaml_schema_field_t *find_field(const char *path)
{
	size_t length = strcspn(path, "[");

	for (const cyaml_schema_field_t *field = fields; field->key; field++)
		if (strlen(field->key) == length && !strncmp(field->key, path, length))
			return field;
	return NULL;
}

static int check_entry(const struct outline_entry *entry, struct error *error)
{
	const cyaml_schema_field_t *field = find_field(entry->path);
	bool list = field && field->value.type == CYAML_SEQUENCE && !strchr(entry->path, '[');

	if (!*entry->path)
		return entry->kind == OUTLINE_MAPPING
			       ? 0
			       : error_at(error, &entry->place, "write KEY: VALUE");
	if (!field)
		return error_at(error, &entry->key,
				"unknown key %s: write one of upstreams, synthetic, nat-prefixes, "
				"connect, idle, total",
				entry->path);
	if (entry->kind != (list ? OUTLINE_LIST : OUTLINE_WORD) || (list && !entry->entries))
		return error_at(error, &entry->place, "%s must be %s", entry->path,
				list ? "a list that has something, as in [a, b]" : "one word");
	return 0;
}

static int read_words(struct reading *reading, const char *path)
{
	const struct place start = {.file = path, .line = 1, .column = 1};
	int r = outline_read(&reading->outline, path, reading->source.text, reading->source.length,
			     reading->error);

	for (size_t i = 0; !r && i < reading->outline.n; i++)
		r = check_entry(&reading->outline.entries[i], reading->error);
	if (r)
		return r;
	if (!reading->outline.n)
		return error_at(reading->error, &start, "empty: write upstreams: [ADDRESS]");
	if (cyaml_load_data((const uint8_t *)reading->source.text, reading->source.length, &cyaml,
			    &schema, (cyaml_data_t **)&reading->written, NULL) != CYAML_OK ||
	    !reading->written)
		return error_at(reading->error, &start, "it cannot be read");
	return 0;
}

static const struct place *place_of(const struct reading *reading, const char *key, unsigned int i)
{
	const struct outline_entry *entry = outline_find(&reading->outline, "%s[%u]", key, i);

	if (!entry)
		entry = outline_find(&reading->outline, "%s", key);
	return &(entry ? entry : reading->outline.entries)->place;
}

/* A reason that a function without places gave, with one. */
static int put_place(struct reading *reading, const char *key, unsigned int i, int r)
{
	struct error why = *reading->error;

	return r == -EINVAL ? error_at(reading->error, place_of(reading, key, i), "%s", why.text)
			    : r;
}

static bool is_port(const char *text)
{
	size_t digits = strspn(text, "0123456789");
	unsigned long port = digits && digits <= 5 && !text[digits] ? strtoul(text, NULL, 10) : 0;

	return port && port <= UINT16_MAX && *text != '0';
}

static bool is_synthetic(const struct address_rules *rules, const struct address *address)
{
	struct address_verdict verdict;

	address_is_public(rules, address, &verdict);
	return verdict.block == &rules->synthetic || verdict.inner_block == &rules->synthetic;
}

static int take_upstream(struct reading *reading, unsigned int i)
{
	const char *text = reading->written->upstreams[i], *at = strchr(text, '@');
	const struct place *place = place_of(reading, "upstreams", i);
	_cleanup_free_ char *host = strndup(text, at ? (size_t)(at - text) : strlen(text));
	struct address address;

	if (!host)
		return error_set(reading->error, ENOMEM, "out of memory");
	if (address_parse(host, &address) || (at && !is_port(at + 1)))
		return error_at(reading->error, place,
				"\"%s\" is no resolver: write ADDRESS or ADDRESS@PORT, as in "
				"9.9.9.9 or 2620:fe::fe@53",
				text);
	if (is_synthetic(&reading->config->rules, &address))
		return error_at(reading->error, place,
				"%s is in the synthetic range %s, whose addresses stand for names",
				text, reading->config->synthetic);
	reading->config->upstreams[i] = strdup(text);
	return reading->config->upstreams[i] ? 0
					     : error_set(reading->error, ENOMEM, "out of memory");
}

static int take_upstreams(struct reading *reading)
{
	unsigned int n = reading->written->upstreams_count;
	int r = 0;

	if (!n)
		return error_at(
			reading->error, place_of(reading, "", 0),
			"upstreams is missing: write the resolvers that names are asked of, "
			"as in upstreams: [9.9.9.9]");
	if (n > RESOLVE_UPSTREAMS)
		return error_at(reading->error, place_of(reading, "upstreams", RESOLVE_UPSTREAMS),
				"more than %d upstreams", RESOLVE_UPSTREAMS);
	reading->config->upstreams = calloc(n + 1, sizeof(char *));
	if (!reading->config->upstreams)
		return error_set(reading->error, ENOMEM, "out of memory");
	for (unsigned int i = 0; !r && i < n; i++)
		r = take_upstream(reading, i);
	return r;
}

static int take_synthetic(struct reading *reading)
{
	struct egress_config *config = reading->config;
	int r;

	config->synthetic = strdup(reading->written->synthetic ?: DEFAULT_SYNTHETIC);
	if (!config->synthetic)
		return error_set(reading->error, ENOMEM, "out of memory");
	r = address_set_synthetic(&config->rules, config->synthetic, reading->error);
	return put_place(reading, "synthetic", 0, r);
}

static int take_nat64(struct reading *reading)
{
	struct egress_config *config = reading->config;
	unsigned int n = reading->written->nat64_count;
	int r = 0;

	config->nat64 = calloc(n + 1, sizeof(char *));
	if (!config->nat64)
		return error_set(reading->error, ENOMEM, "out of memory");
	for (unsigned int i = 0; !r && i < n; i++) {
		r = address_add_nat64(&config->rules, reading->written->nat64[i], reading->error);
		r = put_place(reading, "nat-prefixes", i, r);
		config->nat64[i] = r ? NULL : strdup(reading->written->nat64[i]);
		if (!r && !config->nat64[i])
			r = error_set(reading->error, ENOMEM, "out of memory");
	}
	return r;
}

/* Below `bound`, if there is one. */
static int take_span(struct reading *reading, const char *key, const char *text, __u64 bound,
		     unsigned int *ret_ms)
{
	uint64_t ms = 0;
	int r = text ? duration_parse(text, &ms) : 0;

	if (!text)
		return 0;
	if (r == -EINVAL)
		return error_at(reading->error, place_of(reading, key, 0),
				"%s: \"%s\" is no span of time: write " DURATION_FORM, key, text);
	if (r || ms >= bound)
		return error_at(reading->error, place_of(reading, key, 0),
				"%s: %s is too long: write less than %llu seconds", key, text,
				(unsigned long long)bound / 1000);
	*ret_ms = (unsigned int)ms;
	return 0;
}

static int take_spans(struct reading *reading)
{
	const struct written *written = reading->written;
	struct egress_config *config = reading->config;
	int r;

	config->connect_ms = DEFAULT_CONNECT_MS;
	config->idle_ms = DEFAULT_IDLE_MS;
	config->total_ms = DEFAULT_TOTAL_MS;
	r = take_span(reading, "connect", written->connect, REACH_MAX_MS, &config->connect_ms);
	if (!r)
		r = take_span(reading, "idle", written->idle, INT_MAX, &config->idle_ms);
	if (!r)
		r = take_span(reading, "total", written->total, INT_MAX, &config->total_ms);
	return r;
}

static int read_config(struct reading *reading, const char *path)
{
	static int (*const steps[])(struct reading * reading) = {take_synthetic, take_nat64,
								 take_upstreams, take_spans};
	int r = source_read(path, &reading->source, reading->error);

	if (r == -ENOENT)
		return error_set(reading->error, ENOENT,
				 "egress is off: write the resolvers that names are asked of into "
				 "%s, as in upstreams: [9.9.9.9], and restart bulkheadd",
				 path);
	if (!r)
		r = read_words(reading, path);
	for (size_t i = 0; !r && i < sizeof(steps) / sizeof(*steps); i++)
		r = steps[i](reading);
	return r;
}

int egress_config_load(const char *path, struct egress_config **ret, struct error *error)
{
	struct error why = {0};
	struct reading reading = {.error = &why, .config = calloc(1, sizeof(*reading.config))};
	int r = reading.config ? read_config(&reading, path)
			       : error_set(&why, ENOMEM, "out of memory");

	if (reading.written)
		cyaml_free(&cyaml, &schema, reading.written, 0);
	outline_done(&reading.outline);
	source_done(&reading.source);
	if (r) {
		egress_config_free(reading.config);
		return error_set(error, -r, "%s", why.text);
	}
	*ret = reading.config;
	return 0;
}

static void free_texts(char **texts)
{
	for (char **t = texts; t && *t; t++)
		free(*t);
	free(texts);
}

void egress_config_free(struct egress_config *config)
{
	if (!config)
		return;
	free_texts(config->upstreams);
	free_texts(config->nat64);
	free(config->synthetic);
	free(config);
}
