// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "object.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include "base/cleanup.h"
#include "names.h"
#include "escape.h"

static char *format(const char *text, ...) __attribute__((format(printf, 1, 2)));
static char *format(const char *text, ...)
{
	char *line = NULL;
	va_list ap;

	va_start(ap, text);
	if (vasprintf(&line, text, ap) < 0)
		line = NULL;
	va_end(ap);
	return line;
}

static size_t tail_bytes(const struct bh_event *event)
{
	return event->size - sizeof(*event);
}

static void describe_none(const struct bh_event *event _unused_,
			  const struct event_context *context _unused_, json_t **ret_record,
			  char **ret_words)
{
	*ret_record = json_pack("{s:s}", "kind", "none");
	*ret_words = strdup("");
}

static void describe_path(const struct bh_event *event, const struct event_context *context,
			  json_t **ret_record, char **ret_words)
{
	_cleanup_free_ char *path = NULL, *word = NULL;
	const char *name = context->path;
	size_t n = name ? strlen(name) : event_name(event, &name);

	path = escape_bytes(name, n);
	word = path ? escape_word(path) : NULL;
	if (!word)
		return;
	if (context->path) {
		*ret_record = json_pack("{s:s, s:s}", "kind", "path", "path", path);
		*ret_words = TAKE_PTR(word);
		return;
	}
	/* Not translated: where it stands on its filesystem, and which that is; 0 of one that was mounted
	 * inside. */
	*ret_record = json_pack("{s:s, s:s, s:I}", "kind", "path", "path", path, "superblock",
				(json_int_t)event->object[0]);
	if (event->object[1] == BH_SB_OWN) {
		*ret_words = format("%s on a filesystem mounted inside", n ? word : "a file");
		return;
	}
	*ret_words = n ? format("%s on filesystem %u", word, event->object[0])
		       : format("a file on filesystem %u", event->object[0]);
}

static void describe_socket(const struct bh_event *event,
			    const struct event_context *context _unused_, json_t **ret_record,
			    char **ret_words)
{
	char address[INET6_ADDRSTRLEN] = "", family[16], type[16], protocol[16];
	const __u32 *o = event->object;
	bool six = o[0] == AF_INET6;

	snprintf(family, sizeof(family), "%u", o[0]);
	snprintf(type, sizeof(type), "%u", o[1]);
	snprintf(protocol, sizeof(protocol), "%u", o[2]);
	if ((o[0] == AF_INET && tail_bytes(event) >= 4) || (six && tail_bytes(event) >= 16))
		inet_ntop((int)o[0], event->tail, address, sizeof(address));
	*ret_record = json_pack("{s:s, s:s, s:s, s:s}", "kind", "socket", "family",
				family_name(o[0]) ?: family, "type", socket_type_name(o[1]) ?: type,
				"protocol", protocol_name(o[2]) ?: protocol);
	if (*ret_record && *address) {
		json_object_set_new(*ret_record, "address", json_string(address));
		json_object_set_new(*ret_record, "port", json_integer(o[3]));
		*ret_words = format(six ? "[%s]:%u" : "%s:%u", address, o[3]);
		return;
	}
	*ret_words = format("family %s, type %s, protocol %s", family_name(o[0]) ?: family,
			    socket_type_name(o[1]) ?: type, protocol_name(o[2]) ?: protocol);
}

static void describe_named(const struct bh_event *event, const char *kind, const char *field,
			   json_t **ret_record, char **ret_words)
{
	_cleanup_free_ char *escaped = NULL;
	const char *name = "";
	size_t n = event_name(event, &name);

	escaped = escape_bytes(name, n);
	if (!escaped)
		return;
	*ret_record = json_pack("{s:s, s:s}", "kind", kind, field, escaped);
	*ret_words = escape_word(escaped);
}

static void describe_unix(const struct bh_event *event,
			  const struct event_context *context _unused_, json_t **ret_record,
			  char **ret_words)
{
	describe_named(event, "unix", "path", ret_record, ret_words);
}

static void describe_name(const struct bh_event *event,
			  const struct event_context *context _unused_, json_t **ret_record,
			  char **ret_words)
{
	describe_named(event, "name", "name", ret_record, ret_words);
}

static void describe_task(const struct bh_event *event,
			  const struct event_context *context _unused_, json_t **ret_record,
			  char **ret_words)
{
	*ret_record =
		json_pack("{s:s, s:I, s:I}", "kind", "task", "target", (json_int_t)event->object[0],
			  "number", (json_int_t)event->object[1]);
	*ret_words = event->hook == BH_HOOK_TASK_KILL
			     ? format("%u to process %u", event->object[1], event->object[0])
			     : format("process %u", event->object[0]);
}

static void describe_number(const struct bh_event *event,
			    const struct event_context *context _unused_, json_t **ret_record,
			    char **ret_words)
{
	const char *name =
		event->hook == BH_HOOK_CAPABLE ? capability_name(event->object[0]) : NULL;

	*ret_record =
		json_pack("{s:s, s:I}", "kind", "number", "number", (json_int_t)event->object[0]);
	if (*ret_record && name)
		json_object_set_new(*ret_record, "name", json_string(name));
	*ret_words = name ? strdup(name) : format("%u", event->object[0]);
}

static void describe_cgroup(const struct bh_event *event,
			    const struct event_context *context _unused_, json_t **ret_record,
			    char **ret_words)
{
	__u64 id = (__u64)event->object[1] << 32 | event->object[0];

	*ret_record = json_pack("{s:s, s:I}", "kind", "cgroup", "number", (json_int_t)id);
	*ret_words = format("cgroup %llu", (unsigned long long)id);
}

typedef void (*describe_fn)(const struct bh_event *event, const struct event_context *context,
			    json_t **ret_record, char **ret_words);

static const describe_fn kinds[] = {
	[BH_OBJECT_NONE] = describe_none,     [BH_OBJECT_PATH] = describe_path,
	[BH_OBJECT_SOCKET] = describe_socket, [BH_OBJECT_UNIX] = describe_unix,
	[BH_OBJECT_TASK] = describe_task,     [BH_OBJECT_NUMBER] = describe_number,
	[BH_OBJECT_NAME] = describe_name,     [BH_OBJECT_CGROUP] = describe_cgroup,
};

/* What was revoked is told by the descriptor, too: by its number when the policy came. */
static void add_descriptor(const struct bh_event *event, json_t *record, char **words)
{
	char *more;

	if (event->reason != BH_REASON_REVOKED || !event->object[4])
		return;
	json_object_set_new(record, "descriptor", json_integer(event->object[4] - 1));
	more = format("%s%sby descriptor %u", *words, **words ? " " : "", event->object[4] - 1);
	free(*words);
	*words = more;
}

int object_describe(const struct bh_event *event, const struct event_context *context,
		    json_t **ret_record, char **ret_words)
{
	size_t kind = event->kind < sizeof(kinds) / sizeof(kinds[0]) ? event->kind
								     : (size_t)BH_OBJECT_NONE;
	json_t *record = NULL;
	char *words = NULL;

	kinds[kind](event, context, &record, &words);
	if (record && words)
		add_descriptor(event, record, &words);
	if (!record || !words) {
		json_decref(record);
		free(words);
		return -ENOMEM;
	}
	*ret_record = record;
	*ret_words = words;
	return 0;
}
