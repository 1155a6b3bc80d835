// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "outline.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>
#include "grow.h"

/* A policy nests four deep; what nests deeper is no policy, and this bounds the path's buffer. */
#define MAX_NESTING 8
/* The longest key is "attributes". */
#define MAX_KEY 32
#define KEY_LETTERS "abcdefghijklmnopqrstuvwxyz-"

struct frame {
	enum outline_kind kind;
	size_t entry; /* of the list or mapping */
	size_t path_length;
	bool has_key; /* of a mapping: the next event is a value */
	struct place key;
};

struct reader {
	struct outline *outline;
	struct error *error;
	struct frame frames[MAX_NESTING];
	size_t depth;
	char path[MAX_NESTING * (MAX_KEY + 24)];
	bool has_document;
};

int error_at(struct error *error, const struct place *place, const char *format, ...)
{
	char text[sizeof(error->text) - 256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	return error_set(error, EINVAL, "%s:%u:%u: %s", place->file, place->line, place->column,
			 text);
}

static struct place place_of(const struct reader *reader, const yaml_mark_t *mark)
{
	return (struct place){
		.file = reader->outline->file,
		.line = (unsigned int)mark->line + 1,
		.column = (unsigned int)mark->column + 1,
	};
}

/* Sets the path of the value that comes next and the place of its key. */
static void enter_value(struct reader *reader, struct place *key)
{
	struct frame *frame = reader->depth ? &reader->frames[reader->depth - 1] : NULL;
	struct outline_entry *parent;

	if (!frame) {
		reader->path[0] = '\0';
		return;
	}
	parent = &reader->outline->entries[frame->entry];
	if (frame->kind == OUTLINE_LIST)
		snprintf(reader->path + frame->path_length,
			 sizeof(reader->path) - frame->path_length, "[%zu]", parent->entries);
	else
		*key = frame->key;
	parent->entries++;
	frame->has_key = false;
}

static int add_value(struct reader *reader, enum outline_kind kind, const yaml_mark_t *mark)
{
	struct outline *outline = reader->outline;
	struct outline_entry entry = {.kind = kind, .place = place_of(reader, mark)};

	entry.key = entry.place;
	enter_value(reader, &entry.key);
	entry.path = strdup(reader->path);
	if (!entry.path || grow(&outline->entries, &outline->size, outline->n + 1) < 0) {
		free(entry.path);
		return error_set(reader->error, ENOMEM, "no memory to read the policy");
	}
	outline->entries[outline->n++] = entry;
	return 0;
}

static int open_frame(struct reader *reader, enum outline_kind kind, const yaml_mark_t *mark)
{
	struct place place = place_of(reader, mark);
	int r;

	if (reader->depth == MAX_NESTING)
		return error_at(reader->error, &place, "nested too deeply for a policy");
	r = add_value(reader, kind, mark);
	if (r < 0)
		return r;
	reader->frames[reader->depth++] = (struct frame){
		.kind = kind,
		.entry = reader->outline->n - 1,
		.path_length = strlen(reader->path),
	};
	return 0;
}

static bool wants_key(const struct reader *reader)
{
	const struct frame *frame = reader->depth ? &reader->frames[reader->depth - 1] : NULL;

	return frame && frame->kind == OUTLINE_MAPPING && !frame->has_key;
}

static int take_key(struct reader *reader, const yaml_event_t *event)
{
	struct frame *frame = &reader->frames[reader->depth - 1];
	const char *key = (const char *)event->data.scalar.value;

	frame->key = place_of(reader, &event->start_mark);
	/* Also keeps what has a meaning in a path out of it. */
	if (event->data.scalar.length > MAX_KEY || key[strspn(key, KEY_LETTERS)])
		return strcmp(reader->outline->entries[frame->entry].path, "vars")
			       ? error_at(reader->error, &frame->key, "unknown key %.40s", key)
			       : error_at(reader->error, &frame->key,
					  "vars must be " OUTLINE_VARS_FORM);
	snprintf(reader->path + frame->path_length, sizeof(reader->path) - frame->path_length,
		 "%s%s", frame->path_length ? "." : "", key);
	frame->has_key = true;
	return 0;
}

/* An anchor that nothing refers to would say nothing, and what refers to one is refused. */
static int refuse_marks(struct reader *reader, const struct place *place, bool tag, bool anchor)
{
	if (tag)
		return error_at(reader->error, place, "a tag: write the plain value");
	return anchor ? error_at(reader->error, place, "an anchor: write the plain value") : 0;
}

/* Escapes are longer than what they stand for, and what is not ASCII has more bytes than columns. */
static unsigned int column_of_first(const yaml_event_t *event)
{
	const yaml_mark_t *start = &event->start_mark, *end = &event->end_mark;
	bool quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;

	if (start->line != end->line ||
	    end->column - start->column != event->data.scalar.length + (quoted ? 2 : 0))
		return 0;
	return (unsigned int)start->column + 1 + quoted;
}

static int take_word(struct reader *reader, const yaml_event_t *event)
{
	struct place place = place_of(reader, &event->start_mark);
	int r;

	/* Behind libcyaml it is a C string: "/a\0b" would be taken for "/a". */
	if (memchr(event->data.scalar.value, '\0', event->data.scalar.length))
		return error_at(reader->error, &place, "a NUL byte: no name has one");
	if (refuse_marks(reader, &place, event->data.scalar.tag, event->data.scalar.anchor) < 0)
		return -EINVAL;
	if (wants_key(reader))
		return take_key(reader, event);
	r = add_value(reader, OUTLINE_WORD, &event->start_mark);
	if (r == 0)
		reader->outline->entries[reader->outline->n - 1].first = column_of_first(event);
	return r;
}

static int take_open(struct reader *reader, const yaml_event_t *event)
{
	struct place place = place_of(reader, &event->start_mark);
	bool list = event->type == YAML_SEQUENCE_START_EVENT;
	bool tag = list ? !!event->data.sequence_start.tag : !!event->data.mapping_start.tag;
	bool anchor =
		list ? !!event->data.sequence_start.anchor : !!event->data.mapping_start.anchor;

	if (wants_key(reader))
		return error_at(reader->error, &place, "a key is a word, not a list or a mapping");
	if (refuse_marks(reader, &place, tag, anchor) < 0)
		return -EINVAL;
	return open_frame(reader, list ? OUTLINE_LIST : OUTLINE_MAPPING, &event->start_mark);
}

static int take_close(struct reader *reader, const yaml_event_t *event)
{
	(void)event;
	reader->depth--;
	return 0;
}

static int take_document(struct reader *reader, const yaml_event_t *event)
{
	struct place place = place_of(reader, &event->start_mark);

	if (reader->has_document)
		return error_at(reader->error, &place,
				"a second document: a file holds one policy");
	reader->has_document = true;
	return 0;
}

static int take_alias(struct reader *reader, const yaml_event_t *event)
{
	struct place place = place_of(reader, &event->start_mark);

	return error_at(reader->error, &place, "an alias: write the value out, or use a variable");
}

typedef int (*take_fn)(struct reader *, const yaml_event_t *);

static const take_fn takers[] = {
	[YAML_DOCUMENT_START_EVENT] = take_document,
	[YAML_ALIAS_EVENT] = take_alias,
	[YAML_SCALAR_EVENT] = take_word,
	[YAML_SEQUENCE_START_EVENT] = take_open,
	[YAML_MAPPING_START_EVENT] = take_open,
	[YAML_SEQUENCE_END_EVENT] = take_close,
	[YAML_MAPPING_END_EVENT] = take_close,
};

/* libyaml gives bytes it cannot read an offset and no mark. */
static struct place place_of_offset(const char *file, const char *text, size_t offset)
{
	struct place place = {.file = file, .line = 1, .column = 1};
	size_t i;

	for (i = 0; i < offset; i++) {
		place.column++;
		if (text[i] == '\n') {
			place.line++;
			place.column = 1;
		}
	}
	return place;
}

/* What people mean, and libyaml has other words for. */
static const struct hint {
	const char *said, *hint;
	char at; /* the byte it stopped at; 0: any */
} hints[] = {
	{"cannot start any token", "indent with spaces, not with tabs", '\t'},
	{"cannot start any token", "quote the word", 0},
	{"alphabetic or numeric character", "quote the word: * and & mean something to YAML", 0},
	{"expected ',' or", "close the bracket, put a comma, or quote the word", 0},
	{"mapping values are not allowed", "see the indentation, and that each key has \": \"", 0},
	{"did not find expected key", "see the indentation", 0},
	{"did not find expected '-'", "see the indentation", 0},
};

static const char *hint_of(const yaml_parser_t *parser, const char *text, size_t length)
{
	const char *line = text, *end = text + length;
	char at = 0;

	for (size_t n = parser->problem_mark.line; line && n; n--) {
		line = memchr(line, '\n', (size_t)(end - line));
		line = line ? line + 1 : NULL;
	}
	/* In bytes, which is right where tabs stand before anything else. */
	if (line && parser->problem_mark.column < (size_t)(end - line))
		at = line[parser->problem_mark.column];
	for (size_t i = 0; parser->problem && i < sizeof(hints) / sizeof(*hints); i++)
		if (strstr(parser->problem, hints[i].said) && (!hints[i].at || hints[i].at == at))
			return hints[i].hint;
	return NULL;
}

static int refuse_yaml(struct reader *reader, const yaml_parser_t *parser, const char *text,
		       size_t length)
{
	struct place place = place_of(reader, &parser->problem_mark);
	size_t offset = parser->problem_offset;
	const char *hint = hint_of(parser, text, length);

	if (parser->error == YAML_MEMORY_ERROR)
		return error_set(reader->error, ENOMEM, "no memory to read the policy");
	if (parser->error == YAML_READER_ERROR)
		place = place_of_offset(reader->outline->file, text,
					offset < length ? offset : length);
	return error_at(reader->error, &place, "not YAML: %s%s%s%s%s",
			parser->problem ? parser->problem : "unreadable",
			parser->context ? " " : "", parser->context ? parser->context : "",
			hint ? ": " : "", hint ?: "");
}

static int read_events(struct reader *reader, yaml_parser_t *parser, const char *text,
		       size_t length)
{
	yaml_event_type_t type = YAML_NO_EVENT;
	yaml_event_t event;
	int r = 0;

	while (r == 0 && type != YAML_STREAM_END_EVENT) {
		if (!yaml_parser_parse(parser, &event))
			return refuse_yaml(reader, parser, text, length);
		type = event.type;
		if (type < sizeof(takers) / sizeof(*takers) && takers[type])
			r = takers[type](reader, &event);
		yaml_event_delete(&event);
	}
	return r;
}

static int compare_entries(const void *a, const void *b)
{
	const struct outline_entry *x = *(struct outline_entry *const *)a;
	const struct outline_entry *y = *(struct outline_entry *const *)b;
	int by_path = strcmp(x->path, y->path);

	/* Entries of one array: their order is the text's. */
	return by_path ? by_path : (x > y) - (x < y);
}

static int sort_paths(struct outline *outline, struct error *error)
{
	size_t i;

	outline->by_path = calloc(outline->n + 1, sizeof(*outline->by_path));
	if (!outline->by_path)
		return error_set(error, ENOMEM, "no memory to read the policy");
	for (i = 0; i < outline->n; i++)
		outline->by_path[i] = &outline->entries[i];
	if (outline->n)
		qsort(outline->by_path, outline->n, sizeof(*outline->by_path), compare_entries);
	for (i = 1; i < outline->n; i++) {
		const struct outline_entry *first = outline->by_path[i - 1];
		const struct outline_entry *second = outline->by_path[i];

		if (!strcmp(first->path, second->path))
			return error_at(error, &second->key,
					"%s is given twice, first in line %u: write it once",
					second->path, first->key.line);
	}
	return 0;
}

int outline_read(struct outline *outline, const char *file, const char *text, size_t length,
		 struct error *error)
{
	struct reader reader = {.outline = outline, .error = error};
	yaml_parser_t parser;
	int r;

	memset(outline, 0, sizeof(*outline));
	outline->file = file;
	if (!yaml_parser_initialize(&parser))
		return error_set(error, ENOMEM, "no memory to read the policy");
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
	r = read_events(&reader, &parser, text, length);
	yaml_parser_delete(&parser);
	if (r < 0)
		return r;
	return sort_paths(outline, error);
}

void outline_done(struct outline *outline)
{
	size_t i;

	for (i = 0; i < outline->n; i++)
		free(outline->entries[i].path);
	free(outline->entries);
	free(outline->by_path);
	memset(outline, 0, sizeof(*outline));
}

static int compare_path(const void *path, const void *entry)
{
	return strcmp(path, (*(struct outline_entry *const *)entry)->path);
}

const struct outline_entry *outline_find(const struct outline *outline, const char *format, ...)
{
	struct outline_entry **found;
	char path[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(path, sizeof(path), format, ap);
	va_end(ap);
	if (!outline->n)
		return NULL;
	found = bsearch(path, outline->by_path, outline->n, sizeof(*outline->by_path),
			compare_path);
	return found ? *found : NULL;
}

struct place outline_byte(const struct outline_entry *entry, size_t offset)
{
	struct place place = entry->place;

	if (entry->first)
		place.column = entry->first + (unsigned int)offset;
	return place;
}
