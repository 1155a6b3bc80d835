// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "event.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include "base/cleanup.h"
#include "names.h"
#include "object.h"
#include "policy/policy.h"
#include "escape.h"

DEFINE_CLEANUP(json_t *, json_decref)
#define _cleanup_json_ _cleanup_(cleanup_json_decref)

/* How a line begins when no right was asked for; the object follows. */
static const char *const verbs[BH_HOOK_COUNT] = {
	[BH_HOOK_SOCKET_CREATE] = "socket of",
	[BH_HOOK_SOCKET_CONNECT] = "connect to",
	[BH_HOOK_SOCKET_SENDMSG] = "send to",
	[BH_HOOK_UNIX_CONNECT] = "connect to",
	[BH_HOOK_UNIX_SEND] = "send to",
	[BH_HOOK_CONNECT4] = "connect to",
	[BH_HOOK_CONNECT6] = "connect to",
	[BH_HOOK_SENDMSG4] = "send to",
	[BH_HOOK_SENDMSG6] = "send to",
	[BH_HOOK_TASK_ALLOC] = "fork",
	[BH_HOOK_CLONE_INTO_CGROUP] = "clone into another cgroup",
	[BH_HOOK_CGROUP_MOVE] = "move to",
	[BH_HOOK_PTRACE] = "trace",
	[BH_HOOK_TASK_KILL] = "signal",
	[BH_HOOK_BPF] = "bpf command",
	[BH_HOOK_USERNS] = "new user namespace",
	[BH_HOOK_SB_MOUNT] = "mount on",
	[BH_HOOK_MOVE_MOUNT] = "move mount to",
	[BH_HOOK_CAPABLE] = "use",
	[BH_HOOK_PERF_EVENT] = "perf event",
	[BH_HOOK_ANON_INODE] = "create",
	[BH_HOOK_FILE_FCNTL] = "fcntl",
	[BH_HOOK_FILE_IOCTL] = "ioctl",
	[BH_HOOK_FILE_RECEIVE] = "receive a descriptor of",
	[BH_HOOK_SOCKET_RECVMSG] = "receive from",
	[BH_HOOK_SOCKET_ACCEPT] = "accept on",
	[BH_HOOK_SOCKET_BIND] = "bind to",
	[BH_HOOK_SOCKET_LISTEN] = "listen on",
	[BH_HOOK_SOCKET_SETSOCKOPT] = "set an option of",
};

static bool has_name(const struct bh_event *event)
{
	return event->kind == BH_OBJECT_PATH || event->kind == BH_OBJECT_UNIX ||
	       event->kind == BH_OBJECT_NAME;
}

int event_check(const struct bh_event *event, size_t size)
{
	if (size < sizeof(*event) || event->size < sizeof(*event) || event->size > size)
		return -EBADMSG;
	if (event->abi != BH_ABI)
		return -EBADMSG;
	if (has_name(event) && event->object[2] > event->size - sizeof(*event))
		return -EBADMSG;
	return 0;
}

size_t event_name(const struct bh_event *event, const char **ret)
{
	*ret = (const char *)event->tail;
	return has_name(event) ? event->object[2] : 0;
}

char *record_time(int64_t realtime_ns, char *buffer)
{
	time_t seconds = realtime_ns / 1000000000;
	char date[24];
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || !strftime(date, sizeof(date), "%FT%T", &tm))
		strcpy(date, "1970-01-01T00:00:00");
	snprintf(buffer, RECORD_TIME_SIZE, "%s.%06dZ", date,
		 (int)(realtime_ns % 1000000000 / 1000));
	return buffer;
}

/* The event did not stop anything: a task was moved by someone who may. */
static bool is_notice(const struct bh_event *event)
{
	return event->hook == BH_HOOK_CGROUP_MOVE;
}

static const char *verdict_name(const struct bh_event *event)
{
	if (is_notice(event))
		return "noted";
	if (event->bits & BH_EVENT_AUDIT)
		return "audit";
	if (event->bits & BH_EVENT_TRIPWIRE)
		return "tripwire";
	return "refused";
}

json_t *perms_record(__u32 perms)
{
	json_t *array = json_array();
	char text[16];

	for (__u32 bit = 1; bit & BH_PERM_ALL; bit <<= 1)
		if (perms & bit)
			json_array_append_new(array,
					      json_string(perms_to_text(bit, text, sizeof(text))));
	return array;
}

const char *effect_name(enum rule_effect effect)
{
	static const char *const names[RULE_EFFECTS] = {
		[RULE_ALLOW] = "allow", [RULE_DENY] = "deny",	      [RULE_QUIET] = "quiet",
		[RULE_AUDIT] = "audit", [RULE_TRIPWIRE] = "tripwire",
	};

	return names[effect];
}

static json_t *rule_record(const struct rule *rule)
{
	_cleanup_free_ char *glob = NULL, *file = NULL;

	if (!rule)
		return json_null();
	glob = escape_bytes(rule->glob, strlen(rule->glob));
	file = rule->place.file ? escape_bytes(rule->place.file, strlen(rule->place.file)) : NULL;
	return json_pack("{s:s, s:s?, s:s?, s:I}", "effect", effect_name(rule->effect), "glob",
			 glob, "file", file, "line", (json_int_t)rule->place.line);
}

static json_t *bytes_record(const char *bytes, size_t n)
{
	_cleanup_free_ char *text = bytes ? escape_bytes(bytes, n) : NULL;

	return text ? json_string(text) : json_null();
}

static json_t *ancestry_record(const struct event_context *context)
{
	json_t *array = json_array();

	for (size_t i = 0; i < context->nancestry; i++) {
		const struct event_process *p = &context->ancestry[i];

		json_array_append_new(
			array, json_pack("{s:I, s:o}", "pid", (json_int_t)p->pid, "comm",
					 bytes_record(p->comm, p->comm ? strlen(p->comm) : 0)));
	}
	return array;
}

static json_t *subject_record(const struct bh_event *event, const struct event_context *context)
{
	const char *exe = context->exe;

	return json_pack("{s:I, s:I, s:o, s:o, s:I, s:I, s:o}", "tgid", (json_int_t)event->tgid,
			 "tid", (json_int_t)event->tid, "comm",
			 bytes_record(event->comm, strnlen(event->comm, sizeof(event->comm))),
			 "exe", bytes_record(exe, exe ? strlen(exe) : 0), "start_ns",
			 (json_int_t)event->start_ns, "exec_seq", (json_int_t)event->exec_seq,
			 "ancestry", ancestry_record(context));
}

/* The kernel's "no-rule" means that no rule allows it; that a deny rule said so only its text tells. */
static bool is_denied(const struct bh_event *event, const struct event_context *context)
{
	return context->rule && context->rule->effect == RULE_DENY &&
	       event->reason == BH_REASON_NO_RULE;
}

/* It runs by this rule, but that it may have been written inside. */
static bool is_written(const struct bh_event *event, const struct event_context *context)
{
	return context->rule && context->rule->effect == RULE_ALLOW &&
	       event->reason == BH_REASON_NO_RULE;
}

static const char *reason_of(const struct bh_event *event, const struct event_context *context)
{
	if (is_denied(event, context))
		return "denied";
	return is_written(event, context) ? "written-inside" : reason_name(event->reason);
}

/* What a rule did, in front of its glob; NULL: the kernel's reason says it all. */
static const char *deed(const struct bh_event *event, const struct event_context *context)
{
	enum rule_effect effect = context->rule ? context->rule->effect : RULE_ALLOW;

	if (is_denied(event, context))
		return "denied by";
	if (is_written(event, context))
		return "it may have been written inside, and written-inside: true is not on";
	if (event->reason == BH_REASON_TRIPWIRE && effect == RULE_TRIPWIRE)
		return event->bits & BH_EVENT_AUDIT ? "the compartment would be killed by"
						    : "the compartment is killed by";
	return event->reason == BH_REASON_AUDITED && effect == RULE_AUDIT ? "reported by" : NULL;
}

/* "denied by /etc/shadow (policy.yaml:12)" when a rule says no, the kernel's reason else. */
static char *why_text(const struct bh_event *event, const struct event_context *context)
{
	const char *did = deed(event, context);
	const struct rule *rule = context->rule;
	_cleanup_free_ char *glob = NULL, *word = NULL, *file = NULL;
	char *text = NULL;

	if (!did)
		return strdup(reason_text(event->reason));
	glob = escape_bytes(rule->glob, strlen(rule->glob));
	word = glob ? escape_word(glob) : NULL;
	file = escape_bytes(rule->place.file ?: "", strlen(rule->place.file ?: ""));
	if (!word || !file ||
	    asprintf(&text, "%s %s (%s:%u)", did, word, file, rule->place.line) < 0)
		return NULL;
	return text;
}

/* "read /etc/shadow refused (EACCES): no rule of the policy allows it": also fit to be handed to
 * the program that was refused. */
static char *message_text(const struct bh_event *event, const char *object, const char *why)
{
	const char *verb = event->hook < BH_HOOK_COUNT ? verbs[event->hook] : NULL;
	const char *audit = event->bits & BH_EVENT_AUDIT ? "would be " : "";
	const char *wire = event->bits & BH_EVENT_TRIPWIRE ? ", tripwire" : "";
	char perms[128], *text = NULL;
	int r;

	if (!verb || (event->perms & BH_PERM_ALL))
		verb = event->perms & BH_PERM_ALL
			       ? perms_to_text(event->perms & BH_PERM_ALL, perms, sizeof(perms))
			       : hook_name(event->hook);
	if (is_notice(event))
		r = asprintf(&text, "%s %s: %s", verb, object, why);
	else if (event->reason == BH_REASON_AUDITED)
		r = asprintf(&text, "%s %s let through: %s", verb, object, why);
	else
		r = asprintf(&text, "%s%s%s %srefused (%s)%s: %s", verb, *object ? " " : "", object,
			     audit, errno_name(event->error), wire, why);
	return r < 0 ? NULL : text;
}

/* Everything but time, object and message. */
static json_t *base_record(const struct bh_event *event, const struct event_context *context,
			   const char *why)
{
	const char *name = context->name;

	return json_pack(
		"{s:s, s:I, s:o, s:I, s:I, s:I, s:I, s:s, s:s, s:s, s:s, s:s, s:b, s:s, s:o}",
		"kind", event->bits & BH_EVENT_REPEATED ? "repeated" : "violation", "compartment",
		(json_int_t)event->compartment, "name", bytes_record(name, name ? strlen(name) : 0),
		"member", (json_int_t)event->member, "seq", (json_int_t)event->seq, "repeated",
		(json_int_t)event->repeated, "generation", (json_int_t)event->generation, "hook",
		hook_name(event->hook), "plane", plane_name(event->plane), "reason",
		reason_of(event, context), "reason_text", why, "verdict", verdict_name(event),
		"quiet", !!(event->bits & BH_EVENT_QUIET), "errno", errno_name(event->error),
		"perms", perms_record(event->perms));
}

json_t *event_record(const struct bh_event *event, const struct event_context *context)
{
	int64_t now_ns = (int64_t)event->time_ns + context->realtime_offset_ns;
	_cleanup_json_ json_t *record = NULL, *object = NULL;
	_cleanup_free_ char *words = NULL, *message = NULL, *why = why_text(event, context);
	char time[RECORD_TIME_SIZE];

	if (!why || object_describe(event, context, &object, &words))
		return NULL;
	message = message_text(event, words, why);
	record = base_record(event, context, why);
	if (!message || !record)
		return NULL;
	if (json_object_set_new(record, "time", json_string(record_time(now_ns, time))) ||
	    json_object_set(record, "object", object) ||
	    json_object_set_new(record, "rule", rule_record(context->rule)) ||
	    json_object_set_new(record, "subject", subject_record(event, context)) ||
	    json_object_set_new(record, "message", json_string(message)))
		return NULL;
	return TAKE_PTR(record);
}
