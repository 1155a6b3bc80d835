// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "rewrite.h"

#include <ctype.h>
#include <string.h>
#include "base/cleanup.h"
#include "policy.h"
#include "source.h"
#include "text.h"

/* Letters, digits and what YAML gives no meaning to anywhere in a word. */
static bool is_plain(const char *word)
{
	if (!isalnum((unsigned char)*word) && *word != '/' && *word != '.')
		return false;
	for (; *word; word++)
		if (!isalnum((unsigned char)*word) && !strchr("/._-+", *word))
			return false;
	return true;
}

void yaml_word(const char *word, FILE *to)
{
	if (is_plain(word)) {
		fputs(word, to);
		return;
	}
	putc('\'', to);
	for (; *word; word++) {
		if (*word == '\'')
			putc('\'', to);
		putc(*word, to);
	}
	putc('\'', to);
}

static void words(char *const *list, unsigned int n, FILE *to)
{
	putc('[', to);
	for (unsigned int i = 0; i < n; i++) {
		fputs(i ? ", " : "", to);
		yaml_word(list[i], to);
	}
	putc(']', to);
}

static void setting(const char *key, const char *word, FILE *to)
{
	if (!word)
		return;
	fprintf(to, "%s: ", key);
	yaml_word(word, to);
	putc('\n', to);
}

static bool has_include(const struct text *text, const char *name)
{
	for (unsigned int i = 0; i < text->include_count; i++)
		if (!strcmp(text->include[i], name))
			return true;
	return false;
}

static void write_includes(const struct text *text, const struct rewrite *rewrite, FILE *to)
{
	static const char *const none[] = {NULL};
	const char *const *more = rewrite->includes ? rewrite->includes : none;

	if (!text->include_count && !*more)
		return;
	fputs("include:\n", to);
	for (unsigned int i = 0; i < text->include_count; i++) {
		fputs("  - ", to);
		yaml_word(text->include[i], to);
		putc('\n', to);
	}
	for (; *more; more++) {
		if (has_include(text, *more))
			continue;
		fputs("  - ", to);
		yaml_word(*more, to);
		putc('\n', to);
	}
}

static void write_existing(const struct text_existing *existing, FILE *to)
{
	const struct {
		const char *key, *word;
	} kinds[] = {{"default", existing->fallback},
		     {"files", existing->files},
		     {"sockets", existing->sockets},
		     {"mappings", existing->mappings},
		     {"others", existing->others}};
	const char *comma = "";

	fputs("existing: {", to);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (!kinds[i].word)
			continue;
		fprintf(to, "%s%s: %s", comma, kinds[i].key, kinds[i].word);
		comma = ", ";
	}
	if (existing->keep) {
		fprintf(to, "%skeep: ", comma);
		words(existing->keep, existing->keep_count, to);
	}
	fputs("}\n", to);
}

static void write_limits(const struct text_limits *limits, FILE *to)
{
	const char *comma = "";

	fputs("limits: {", to);
	for (int i = 0; i < LIMITS; i++) {
		if (!limits->values[i])
			continue;
		fprintf(to, "%s%s: %s", comma, limit_rows[i].key, limits->values[i]);
		comma = ", ";
	}
	fputs("}\n", to);
}

static void write_environment(const struct text_environment *environment, FILE *to)
{
	fputs("environment:\n", to);
	if (environment->home)
		fprintf(to, "  home: %s\n", environment->home);
	if (environment->tmpdir)
		fprintf(to, "  tmpdir: %s\n", environment->tmpdir);
	if (environment->pass_count) {
		fputs("  pass: ", to);
		words(environment->pass, environment->pass_count, to);
		putc('\n', to);
	}
	if (environment->set_count) {
		fputs("  set: ", to);
		words(environment->set, environment->set_count, to);
		putc('\n', to);
	}
}

static void write_settings(const struct text *text, const struct rewrite *rewrite, FILE *to)
{
	setting("version", text->version, to);
	setting("name", text->name, to);
	write_includes(text, rewrite, to);
	if (text->vars_count) {
		fputs("vars: ", to);
		words(text->vars, text->vars_count, to);
		putc('\n', to);
	}
	setting("mode", rewrite->mode ? rewrite->mode : text->mode, to);
	if (text->existing)
		write_existing(text->existing, to);
	if (rewrite->proc)
		fputs(rewrite->proc, to);
	else
		setting("proc", text->proc, to);
	setting("nested-sandbox", text->nested, to);
	setting("hardlinks", text->hardlinks, to);
	if (text->limits)
		write_limits(text->limits, to);
	if (text->environment)
		write_environment(text->environment, to);
}

static void write_file_rule(const struct text_rule *rule, FILE *to)
{
	const struct {
		const char *key;
		char *const *words;
		unsigned int count;
	} effects[] = {
		{"allow", rule->allow, rule->allow_count},
		{"deny", rule->deny, rule->deny_count},
		{"quiet", rule->quiet, rule->quiet_count},
		{"audit", rule->audit, rule->audit_count},
		{"tripwire", rule->tripwire, rule->tripwire_count},
	};

	for (size_t i = 0; i < sizeof(effects) / sizeof(*effects); i++) {
		if (!effects[i].words)
			continue;
		fprintf(to, "  - {%s: ", effects[i].key);
		words(effects[i].words, effects[i].count, to);
	}
	fputs(", on: ", to);
	words(rule->on, rule->on_count, to);
	if (rule->hardlinks)
		fprintf(to, ", hardlinks: %s", rule->hardlinks);
	fputs("}\n", to);
}

static void write_files(const struct text *text, const char *more, FILE *to)
{
	if (!text->files_count && !more)
		return;
	fputs("files:\n", to);
	for (unsigned int i = 0; i < text->files_count; i++)
		write_file_rule(&text->files[i], to);
	fputs(more ? more : "", to);
}

static void write_exec(const struct text *text, const char *more, FILE *to)
{
	if (!text->exec_count && !more)
		return;
	fputs("exec:\n", to);
	for (unsigned int i = 0; i < text->exec_count; i++) {
		fputs("  - {on: ", to);
		words(text->exec[i].on, text->exec[i].on_count, to);
		if (text->exec[i].jit)
			fprintf(to, ", jit: %s", text->exec[i].jit);
		if (text->exec[i].written_inside)
			fprintf(to, ", written-inside: %s", text->exec[i].written_inside);
		if (text->exec[i].hardlinks)
			fprintf(to, ", hardlinks: %s", text->exec[i].hardlinks);
		fputs("}\n", to);
	}
	fputs(more ? more : "", to);
}

static void write_unix(const struct text *text, const char *more, FILE *to)
{
	static const struct text_unix nothing;
	const struct text_unix *sockets = text->unix_sockets ? text->unix_sockets : &nothing;

	if (!text->unix_sockets && !more)
		return;
	fputs("unix:\n", to);
	if (sockets->connect_count || more)
		fputs("  connect:\n", to);
	for (unsigned int i = 0; i < sockets->connect_count; i++) {
		fputs("    - ", to);
		yaml_word(sockets->connect[i], to);
		putc('\n', to);
	}
	fputs(more ? more : "", to);
	if (!sockets->quiet_count)
		return;
	fputs("  quiet: ", to);
	words(sockets->quiet, sockets->quiet_count, to);
	putc('\n', to);
}

static void write_destination(const struct text_destination *destination, FILE *to)
{
	const struct {
		const char *key, *word;
	} keys[] = {{"to", destination->to},
		    {"discloses", destination->discloses},
		    {"max-upload", destination->max_upload},
		    {"tls", destination->tls}};
	const char *between = "    - {";

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (!keys[i].word)
			continue;
		fprintf(to, "%s%s: ", between, keys[i].key);
		yaml_word(keys[i].word, to);
		between = ", ";
	}
	fputs("}\n", to);
}

static void write_network(const struct text *text, FILE *to)
{
	setting("network", text->closed, to);
	if (!text->network)
		return;
	fputs("network:\n", to);
	setting("  loopback", text->network->loopback, to);
	if (text->network->listen_count) {
		fputs("  listen: ", to);
		words(text->network->listen, text->network->listen_count, to);
		putc('\n', to);
	}
	setting("  proxy", text->network->proxy, to);
	if (text->network->egress_count)
		fputs("  egress:\n", to);
	for (unsigned int i = 0; i < text->network->egress_count; i++)
		write_destination(&text->network->egress[i], to);
}

static void write_probe(const char *key, const struct text_probe *probe, FILE *to)
{
	const char *between = "";
	char right[32];

	if (!probe)
		return;
	fprintf(to, "  - %s: {", key);
	for (unsigned int bit = 0; bit < TEXT_RIGHTS; bit++) {
		if (!probe->path[bit])
			continue;
		fprintf(to, "%s%s: ", between, perms_to_text(1u << bit, right, sizeof(right)));
		yaml_word(probe->path[bit], to);
		between = ", ";
	}
	fputs("}\n", to);
}

static void write_tests(const struct text *text, FILE *to)
{
	if (text->tests_count)
		fputs("tests:\n", to);
	for (unsigned int i = 0; i < text->tests_count; i++) {
		write_probe("allowed", text->tests[i].allowed, to);
		write_probe("refused", text->tests[i].refused, to);
	}
}

int policy_rewrite(const char *path, const struct rewrite *rewrite, FILE *to, struct error *error)
{
	_cleanup_(source_done) struct source source = {0};
	_cleanup_(outline_done) struct outline outline = {0};
	struct text *text = NULL;
	int r = source_read(path, &source, error);

	if (r == 0)
		r = outline_read(&outline, path, source.text, source.length, error);
	if (r == 0)
		r = source_text(source.text, source.length, &outline, &text, error);
	if (r < 0)
		return r;
	fputs(rewrite->head ? rewrite->head : "", to);
	write_settings(text, rewrite, to);
	write_files(text, rewrite->files, to);
	write_exec(text, rewrite->exec, to);
	write_unix(text, rewrite->connect, to);
	write_network(text, to);
	write_tests(text, to);
	text_free(text);
	return 0;
}
