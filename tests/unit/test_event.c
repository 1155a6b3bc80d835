// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Events become records and lines: every kind of object, hostile names, broken events, gaps. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "audit/egress.h"
#include "audit/escape.h"
#include "audit/event.h"
#include "audit/loss.h"
#include "audit/names.h"
#include "audit/sink.h"
#include "base/cleanup.h"

/* 2026-01-31T12:03:04Z */
#define WHEN_NS 1769860984000000000ll

union buffer {
	struct bh_event event;
	char bytes[sizeof(struct bh_event) + BH_MAX_PATH + 1];
};

struct sample {
	unsigned int hook, reason, perms, bits, kind;
	__u32 object[5];
	const char *tail;
	size_t ntail;
	const char *path; /* translated */
	const struct rule *rule;
	const char *line;
};

#define RULE(effect_, perms_, glob_, line_)                                        \
	{                                                                          \
		.effect = (effect_), .perms = (perms_), .glob = (char *)glob_,     \
		.place = {.file = "/etc/demo.yaml", .line = (line_), .column = 3}, \
	}

static const struct rule deny = RULE(RULE_DENY, BH_PERM_WRITE, "/srv/ws/.git/hooks/**", 12);
static const struct rule bait = RULE(RULE_TRIPWIRE, BH_PERM_READ, "/srv/ws/bait", 14);
static const struct rule audited = RULE(RULE_AUDIT, BH_PERM_READ, "/srv/ws/*", 15);

static const struct rule runs = RULE(RULE_ALLOW, BH_PERM_EXEC, "/srv/ws/**", 16);

static void fill(union buffer *b, const struct sample *s)
{
	memset(b, 0, sizeof(*b));
	b->event = (struct bh_event){
		.abi = BH_ABI,
		.size = (__u16)(sizeof(b->event) + s->ntail),
		.compartment = 7,
		.seq = 12,
		.generation = 3,
		.hook = (__u16)s->hook,
		.reason = (__u16)s->reason,
		.plane = (__u8)hook_plane(s->hook),
		.bits = (__u8)s->bits,
		.error = hook_errno(s->hook),
		.perms = s->perms,
		.tgid = 812,
		.tid = 813,
		.comm = "node",
		.kind = s->kind,
	};
	memcpy(b->event.object, s->object, sizeof(s->object));
	if (s->ntail)
		memcpy(b->event.tail, s->tail, s->ntail);
}

static json_t *render(const struct sample *s)
{
	union buffer b;
	struct event_context context = {
		.name = "demo",
		.path = s->path,
		.rule = s->rule,
		.realtime_offset_ns = WHEN_NS,
	};
	json_t *record;

	fill(&b, s);
	assert_int_equal(event_check(&b.event, b.event.size), 0);
	record = event_record(&b.event, &context);
	assert_non_null(record);
	return record;
}

#define TAIL(text) .tail = text, .ntail = sizeof(text) - 1
#define PATH_OBJECT(text) .kind = BH_OBJECT_PATH, .object = {5, 1, sizeof(text) - 1}, TAIL(text)

static const struct sample samples[] = {
	{
		.hook = BH_HOOK_FILE_OPEN,
		.reason = BH_REASON_NO_RULE,
		.perms = BH_PERM_READ,
		PATH_OBJECT("/shadow"),
		.path = "/etc/shadow",
		.line = "12:03:04 demo node[812]: read /etc/shadow refused (EACCES): no rule of "
			"the "
			"policy allows it [file_open #12]",
	},
	{
		.hook = BH_HOOK_FILE_OPEN,
		.reason = BH_REASON_UNSURE_SB,
		.perms = BH_PERM_READ | BH_PERM_WRITE,
		PATH_OBJECT("/x"),
		.line = "12:03:04 demo node[812]: read,write /x on filesystem 5 refused (EACCES): "
			"undecided: a filesystem the policy's view does not know [file_open #12]",
	},
	{
		.hook = BH_HOOK_PATH_MKNOD,
		.reason = BH_REASON_NO_RULE,
		.perms = BH_PERM_WRITE,
		PATH_OBJECT("/ws/.git/hooks/x"),
		.path = "/srv/ws/.git/hooks/x",
		.rule = &deny,
		.line = "12:03:04 demo node[812]: write /srv/ws/.git/hooks/x refused (EACCES): "
			"denied by /srv/ws/.git/hooks/** (/etc/demo.yaml:12) [path_mknod #12]",
	},
	{
		.hook = BH_HOOK_FILE_OPEN,
		.reason = BH_REASON_NO_RULE,
		.perms = BH_PERM_EXEC,
		PATH_OBJECT("/ws/a.out"),
		.path = "/srv/ws/a.out",
		.rule = &runs,
		.line = "12:03:04 demo node[812]: exec /srv/ws/a.out refused (EACCES): it may have "
			"been written inside, and written-inside: true is not on /srv/ws/** "
			"(/etc/demo.yaml:16) [file_open #12]",
	},
	{
		.hook = BH_HOOK_FILE_OPEN,
		.reason = BH_REASON_TRIPWIRE,
		.bits = BH_EVENT_TRIPWIRE,
		.perms = BH_PERM_READ,
		PATH_OBJECT("/ws/bait"),
		.path = "/srv/ws/bait",
		.rule = &bait,
		.line = "12:03:04 demo node[812]: read /srv/ws/bait refused (EACCES), tripwire: "
			"the compartment is killed by /srv/ws/bait (/etc/demo.yaml:14) "
			"[file_open #12]",
	},
	{
		.hook = BH_HOOK_FILE_OPEN,
		.reason = BH_REASON_TRIPWIRE,
		.bits = BH_EVENT_TRIPWIRE | BH_EVENT_AUDIT,
		.perms = BH_PERM_READ,
		PATH_OBJECT("/ws/bait"),
		.path = "/srv/ws/bait",
		.rule = &bait,
		.line = "12:03:04 demo node[812]: read /srv/ws/bait would be refused (EACCES), "
			"tripwire: the compartment would be killed by /srv/ws/bait "
			"(/etc/demo.yaml:14) [file_open #12]",
	},
	{
		.hook = BH_HOOK_FILE_OPEN,
		.reason = BH_REASON_NO_RULE,
		.perms = BH_PERM_EXEC,
		.kind = BH_OBJECT_PATH,
		.object = {0, BH_SB_OWN, 2},
		TAIL("/p"),
		.line = "12:03:04 demo node[812]: exec /p on a filesystem mounted inside refused "
			"(EACCES): no rule of the policy allows it [file_open #12]",
	},
	{
		.hook = BH_HOOK_FILE_OPEN,
		.reason = BH_REASON_AUDITED,
		.bits = BH_EVENT_AUDIT,
		.perms = BH_PERM_READ,
		PATH_OBJECT("/ws/x"),
		.path = "/srv/ws/x",
		.rule = &audited,
		.line = "12:03:04 demo node[812]: read /srv/ws/x let through: reported by "
			"/srv/ws/* (/etc/demo.yaml:15) [file_open #12]",
	},
	{
		.hook = BH_HOOK_CONNECT4,
		.reason = BH_REASON_NETWORK,
		.kind = BH_OBJECT_SOCKET,
		.object = {AF_INET, SOCK_STREAM, 6, 443},
		TAIL("\x0a\x01\x02\x03"),
		.line = "12:03:04 demo node[812]: connect to 10.1.2.3:443 refused (EACCES): the "
			"policy "
			"opens no way there [connect4 #12]",
	},
	{
		.hook = BH_HOOK_CONNECT6,
		.reason = BH_REASON_NETWORK,
		.kind = BH_OBJECT_SOCKET,
		.object = {AF_INET6, SOCK_DGRAM, 17, 53},
		TAIL("\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x35"),
		.line = "12:03:04 demo node[812]: connect to [2001:db8::35]:53 refused (EACCES): "
			"the "
			"policy opens no way there [connect6 #12]",
	},
	{
		.hook = BH_HOOK_SOCKET_CREATE,
		.reason = BH_REASON_CLOSED,
		.kind = BH_OBJECT_SOCKET,
		.object = {AF_VSOCK, SOCK_STREAM, 0},
		.line = "12:03:04 demo node[812]: socket of family vsock, type stream, protocol 0 "
			"refused (EAFNOSUPPORT): closed to every compartment [socket_create #12]",
	},
	{
		.hook = BH_HOOK_UNIX_CONNECT,
		.reason = BH_REASON_NO_RULE,
		.perms = BH_PERM_CONNECT,
		.kind = BH_OBJECT_UNIX,
		.object = {0, 0, 8},
		TAIL("@session"),
		.line = "12:03:04 demo node[812]: connect @session refused (EACCES): no rule of "
			"the "
			"policy allows it [unix_stream_connect #12]",
	},
	{
		.hook = BH_HOOK_TASK_KILL,
		.reason = BH_REASON_OUTSIDER,
		.kind = BH_OBJECT_TASK,
		.object = {1, 15},
		.line = "12:03:04 demo node[812]: signal 15 to process 1 refused (EPERM): the "
			"target is "
			"outside the compartment [task_kill #12]",
	},
	{
		.hook = BH_HOOK_CAPABLE,
		.reason = BH_REASON_CLOSED,
		.bits = BH_EVENT_AUDIT,
		.kind = BH_OBJECT_NUMBER,
		.object = {21},
		.line = "12:03:04 demo node[812]: use CAP_SYS_ADMIN would be refused (EPERM): "
			"closed to "
			"every compartment [capable #12]",
	},
	{
		.hook = BH_HOOK_ANON_INODE,
		.reason = BH_REASON_CLOSED,
		.bits = BH_EVENT_TRIPWIRE,
		.kind = BH_OBJECT_NAME,
		.object = {0, 0, 10},
		TAIL("[io_uring]"),
		.line = "12:03:04 demo node[812]: create \"[io_uring]\" refused (ENOSYS), "
			"tripwire: "
			"closed to every compartment [inode_init_security_anon #12]",
	},
	{
		.hook = BH_HOOK_TASK_ALLOC,
		.reason = BH_REASON_UNSURE_LABEL,
		.line = "12:03:04 demo node[812]: fork refused (EAGAIN): undecided: no label could "
			"be "
			"read or made for the task [task_alloc #12]",
	},
	{
		.hook = BH_HOOK_CGROUP_MOVE,
		.reason = BH_REASON_MOVED,
		.kind = BH_OBJECT_CGROUP,
		.object = {9, 1},
		.line = "12:03:04 demo node[812]: move to cgroup 4294967305: a task was moved "
			"across "
			"the compartment's edge [cgroup_attach_task #12]",
	},
	{
		.hook = BH_HOOK_FILE_PERMISSION,
		.reason = BH_REASON_REVOKED,
		.perms = BH_PERM_READ,
		.kind = BH_OBJECT_PATH,
		.object = {5, 1, 7, 0, 8},
		TAIL("/shadow"),
		.path = "/etc/shadow",
		.line = "12:03:04 demo node[812]: read /etc/shadow by descriptor 7 refused "
			"(EACCES): it was open before the policy, which does not allow it "
			"[file_permission #12]",
	},
};

/* Every kind of object says what it is in one line. */
static void test_lines(void **state _unused_)
{
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		json_t *record = render(&samples[i]);
		_cleanup_free_ char *line = record_line(record);

		assert_non_null(line);
		assert_string_equal(line, samples[i].line);
		json_decref(record);
	}
}

static const char *text_at(const json_t *record, const char *field)
{
	return json_string_value(json_object_get(record, field));
}

/* The fields programs rely on are there, with their types. */
static void test_fields(void **state _unused_)
{
	json_t *record = render(&samples[2]);
	const json_t *rule = json_object_get(record, "rule");
	const json_t *object = json_object_get(record, "object");
	const json_t *subject = json_object_get(record, "subject");

	assert_string_equal(text_at(record, "kind"), "violation");
	assert_string_equal(text_at(record, "time"), "2026-01-31T12:03:04.000000Z");
	assert_string_equal(text_at(record, "name"), "demo");
	assert_string_equal(text_at(record, "hook"), "path_mknod");
	assert_string_equal(text_at(record, "plane"), "file");
	assert_string_equal(text_at(record, "reason"), "denied");
	assert_string_equal(text_at(record, "reason_text"),
			    "denied by /srv/ws/.git/hooks/** (/etc/demo.yaml:12)");
	assert_string_equal(text_at(record, "verdict"), "refused");
	assert_string_equal(text_at(record, "errno"), "EACCES");
	assert_string_equal(json_string_value(json_array_get(json_object_get(record, "perms"), 0)),
			    "write");
	assert_int_equal(json_integer_value(json_object_get(record, "compartment")), 7);
	assert_int_equal(json_integer_value(json_object_get(record, "seq")), 12);
	assert_true(json_is_false(json_object_get(record, "quiet")));
	assert_string_equal(text_at(rule, "effect"), "deny");
	assert_int_equal(json_integer_value(json_object_get(rule, "line")), 12);
	assert_string_equal(text_at(object, "path"), "/srv/ws/.git/hooks/x");
	assert_string_equal(text_at(subject, "comm"), "node");
	assert_true(json_is_null(json_object_get(subject, "exe")));
	assert_true(json_is_array(json_object_get(subject, "ancestry")));
	json_decref(record);
	record = render(&samples[0]);
	assert_string_equal(text_at(record, "reason"), "no-rule");
	assert_true(json_is_null(json_object_get(record, "rule")));
	json_decref(record);
}

struct escape_case {
	const char *bytes;
	size_t n;
	const char *expected;
};

#define BYTES(text) text, sizeof(text) - 1
static const struct escape_case escapes[] = {
	{BYTES(""), ""},
	{BYTES("/plain/\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"),
	 "/plain/\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
	{BYTES("a\nb\tc\x1b[2J\x7f"), "a\\x0ab\\x09c\\x1b[2J\\x7f"},
	{BYTES("nul\0nul"), "nul\\x00nul"},
	{BYTES("\\x41"), "\\x5cx41"}, /* does not look like an escaped byte */
	{BYTES("\xff\xfe"), "\\xff\\xfe"},
	{BYTES("\xc0\xaf"), "\\xc0\\xaf"},		     /* overlong '/' */
	{BYTES("\xed\xa0\x80"), "\\xed\\xa0\\x80"},	     /* surrogate */
	{BYTES("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80"}, /* past the last plane */
	{BYTES("cut\xe2\x82"), "cut\\xe2\\x82"},
	{BYTES("\xc2\x85"), "\\xc2\\x85"},	    /* next line */
	{BYTES("\xe2\x80\xa8"), "\\xe2\\x80\\xa8"}, /* line separator */
	{BYTES("\xe2\x80\xae"), "\\xe2\\x80\\xae"}, /* right to left override */
};

/* Names are bytes a hostile program chose; those that are no NUL can be had back. */
static void test_escape(void **state _unused_)
{
	for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++) {
		_cleanup_free_ char *text = escape_bytes(escapes[i].bytes, escapes[i].n);

		_cleanup_free_ char *bytes = unescape_bytes(text);

		assert_string_equal(text, escapes[i].expected);
		if (!memchr(escapes[i].bytes, 0, escapes[i].n))
			assert_memory_equal(bytes, escapes[i].bytes, escapes[i].n);
	}
}

/* A file name that looks like the end of one line and the begin of another stays one word of one
 * line, and the record stays one line of JSON. */
static void test_forged_line(void **state _unused_)
{
	static const char name[] =
		"/a refused (EACCES): x [file_open #9]\n12:00:00 demo sh[1]: \"y\"";
	struct sample s = samples[0];
	json_t *record;
	_cleanup_free_ char *line = NULL, *json = NULL;

	s.path = name;
	record = render(&s);
	line = record_line(record);
	json = json_dumps(record, JSON_COMPACT);
	assert_null(strchr(line, '\n'));
	assert_null(strchr(json, '\n'));
	assert_non_null(strstr(line,
			       "read \"/a refused (EACCES): x [file_open #9]\\x0a12:00:00 demo "
			       "sh[1]: \\x22y\\x22\" refused (EACCES): no rule"));
	json_decref(record);
}

/* The longest path of the worst bytes still renders. */
static void test_longest(void **state _unused_)
{
	static char path[BH_MAX_PATH];
	struct sample s = samples[0];
	json_t *record;

	memset(path, 0xff, sizeof(path));
	s.path = NULL;
	s.tail = path;
	s.ntail = sizeof(path);
	s.object[2] = sizeof(path);
	record = render(&s);
	assert_int_equal(strlen(text_at(json_object_get(record, "object"), "path")),
			 4 * BH_MAX_PATH);
	json_decref(record);
}

/* Short, foreign and lying events are refused; unknown numbers are not. */
static void test_broken(void **state _unused_)
{
	union buffer b;
	struct event_context context = {0};
	json_t *record;

	fill(&b, &samples[0]);
	assert_int_equal(event_check(&b.event, sizeof(b.event) - 1), -EBADMSG);
	assert_int_equal(event_check(&b.event, b.event.size - 1), -EBADMSG);
	b.event.object[2]++;
	assert_int_equal(event_check(&b.event, b.event.size), -EBADMSG);
	b.event.object[2] = UINT32_MAX;
	assert_int_equal(event_check(&b.event, b.event.size), -EBADMSG);
	fill(&b, &samples[0]);
	b.event.size = sizeof(b.event) - 1;
	assert_int_equal(event_check(&b.event, sizeof(b.event)), -EBADMSG);
	fill(&b, &samples[0]);
	b.event.abi++;
	assert_int_equal(event_check(&b.event, b.event.size), -EBADMSG);

	fill(&b, &samples[10]);
	b.event.hook = b.event.reason = UINT16_MAX;
	b.event.plane = UINT8_MAX;
	b.event.kind = UINT32_MAX;
	b.event.error = INT32_MIN;
	b.event.perms = UINT32_MAX;
	memset(b.event.comm, 'x', sizeof(b.event.comm));
	assert_int_equal(event_check(&b.event, b.event.size), 0);
	record = event_record(&b.event, &context);
	assert_non_null(record);
	assert_string_equal(text_at(record, "hook"), "unknown");
	json_decref(record);
}

/* A violation says how many like it came before it; a record of repeats alone is none itself. */
static void test_repeated(void **state _unused_)
{
	const struct event_context context = {.name = "codex", .realtime_offset_ns = WHEN_NS};
	_cleanup_free_ char *first = NULL, *next = NULL, *rest = NULL;
	json_t *record;
	union buffer b;

	fill(&b, &samples[0]);
	record = event_record(&b.event, &context);
	assert_int_equal(json_integer_value(json_object_get(record, "repeated")), 0);
	first = record_line(record);
	assert_null(strstr(first, "more like it"));
	json_decref(record);

	b.event.repeated = UINT32_MAX;
	record = event_record(&b.event, &context);
	assert_string_equal(text_at(record, "kind"), "violation");
	next = record_line(record);
	assert_non_null(strstr(next, ", and 4294967295 more like it before ["));
	json_decref(record);

	b.event.bits |= BH_EVENT_REPEATED;
	b.event.repeated = 41;
	record = event_record(&b.event, &context);
	assert_string_equal(text_at(record, "kind"), "repeated");
	assert_int_equal(json_integer_value(json_object_get(record, "repeated")), 41);
	assert_int_equal(json_integer_value(json_object_get(record, "seq")), 12);
	assert_string_equal(text_at(record, "verdict"), "refused");
	rest = record_line(record);
	assert_non_null(strstr(rest, ", and 41 more like it ["));
	json_decref(record);
}

/* Numbers in order lose nothing; a gap is given up exactly, once. */
static void test_gap(void **state _unused_)
{
	struct loss *loss = loss_new();
	bool late;

	loss_expect(loss, 1, 1);
	for (__u64 seq = 1; seq <= 10; seq++)
		assert_int_equal(loss_seen(loss, 1, seq, &late), 0);
	assert_int_equal(loss_seen(loss, 1, 14, &late), 0); /* 11-13 may still come */
	assert_int_equal(loss_settle(loss, 1, 14), 3);
	assert_int_equal(loss_settle(loss, 1, 14), 0);
	assert_int_equal(loss_total(loss, 1), 3);
	/* One that comes after all is said so and taken off. */
	assert_int_equal(loss_seen(loss, 1, 12, &late), 0);
	assert_true(late);
	assert_int_equal(loss_total(loss, 1), 2);
	loss_free(loss);
}

/* Two CPUs hand over in either order. */
static void test_order(void **state _unused_)
{
	static const __u64 order[] = {2, 1, 3, 6, 5, 4, 8, 7};
	struct loss *loss = loss_new();
	bool late;

	loss_expect(loss, 1, 1);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		assert_int_equal(loss_seen(loss, 1, order[i], &late), 0);
		assert_false(late);
	}
	assert_int_equal(loss_settle(loss, 1, 8), 0);
	loss_free(loss);
}

/* Far jumps, accounts that begin late, ids out of range, ids used again. */
static void test_jump(void **state _unused_)
{
	struct loss *loss = loss_new();
	bool late;

	assert_int_equal(loss_seen(loss, 1, 500, &late), 0); /* begins here */
	assert_int_equal(loss_seen(loss, 1, 1000, &late), 1000 - LOSS_WINDOW - 500);
	assert_int_equal(loss_settle(loss, 1, 1000), LOSS_WINDOW - 1);
	assert_int_equal(loss_total(loss, 1), 499);
	assert_int_equal(loss_seen(loss, BH_MAX_COMPARTMENTS, 5, &late), 0);
	assert_int_equal(loss_settle(loss, 2, 100), 0); /* never begun */
	loss_expect(loss, 2, 1);
	assert_int_equal(loss_settle(loss, 2, 100), 100);
	loss_forget(loss, 2);
	assert_int_equal(loss_total(loss, 2), 0);
	assert_int_equal(loss_seen(loss, 2, UINT64_MAX - 1, &late), 0);
	loss_free(loss);
}

/* Lost and control records are lines too. */
static void test_other_records(void **state _unused_)
{
	json_t *lost = loss_record(7, 3, WHEN_NS), *mine = loss_record(0, 5, WHEN_NS);
	json_t *control =
		json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:s, s:s}", "kind", "control", "time",
			  "2026-01-31T12:03:04Z", "request", "attach", "target", "/x\ny", "uid", 0,
			  "pid", 44, "unit", "ssh.service", "outcome", "ok");
	json_t *grant =
		json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:s, s:s}", "kind", "control",
			  "time", "2026-01-31T12:03:04Z", "request", "grant", "target", "codex",
			  "for_ms", 600000, "uid", 0, "pid", 44, "unit", "", "outcome", "ok");
	_cleanup_free_ char *a = record_line(lost), *b = record_line(mine);
	_cleanup_free_ char *c = record_line(control), *d = record_line(grant);

	assert_string_equal(a, "12:03:04 compartment 7: 3 events lost");
	assert_string_equal(b, "12:03:04 5 records lost on their way here");
	assert_string_equal(plural(0), "s");
	assert_string_equal(plural(1), "");
	assert_string_equal(c, "12:03:04 control: attach /x\\x0ay by uid 0, process 44 "
			       "(ssh.service): ok");
	assert_string_equal(d, "12:03:04 control: grant codex for 10m by uid 0, process 44: ok");
	json_object_set_new(grant, "only", json_pack("[s, s]", "a.b", "c.d"));
	free(d);
	d = record_line(grant);
	assert_string_equal(d, "12:03:04 control: grant codex for 10m to 2 names by uid 0, process "
			       "44: ok");
	json_decref(grant);
	json_decref(lost);
	json_decref(mine);
	json_decref(control);
}

#define SAID(text) "{\"is\":\"event\",\"serial\":7," text "}"

/* What the relay tells, and the line of it. NULL: it makes no sense. */
static const struct {
	const char *said, *line;
} said[] = {
	{SAID("\"what\":\"query\",\"name\":\"evil.example\",\"type\":\"AAAA\",\"outcome\":"
	      "\"unlisted\""),
	 "12:03:04 codex: query of evil.example (AAAA) refused: unlisted [egress]"},
	{SAID("\"what\":\"query\",\"name\":\"a\\u001b[2J "
	      "b\",\"type\":\"A\",\"outcome\":\"malformed\","
	      "\"count\":12"),
	 "12:03:04 codex: query of \"a\\x1b[2J b\" (A) refused: malformed, 12 times [egress]"},
	{SAID("\"what\":\"connect\",\"name\":\"api.example.com\",\"port\":443,\"outcome\":\"bad "
	      "address\","
	      "\"reason\":\"10.0.0.1 is private\""),
	 "12:03:04 codex: connect to api.example.com:443 refused: bad address: 10.0.0.1 is private "
	 "[egress]"},
	{SAID("\"what\":\"flow\",\"name\":\"api.example.com\",\"port\":443,\"address\":\"1.2.3.4\","
	      "\"outcome\":\"ended\",\"up\":10,\"down\":20000000000,\"ms\":30"),
	 "12:03:04 codex: api.example.com:443 (1.2.3.4) ended: 10 bytes up, 20000000000 down, 30 "
	 "ms "
	 "[egress]"},
	{SAID("\"what\":\"connect\",\"name\":\"api.example.com\",\"port\":443,\"outcome\":\"no "
	      "TLS\",\"reason\":\"no TLS\""),
	 "12:03:04 codex: connect to api.example.com:443 refused: no TLS [egress]"},
	{SAID("\"what\":\"connect\",\"name\":\"\",\"port\":80,\"outcome\":\"unnamed "
	      "address\",\"reason\":\"198.18.0.9\""),
	 "12:03:04 codex: connect to port 80 refused: unnamed address: 198.18.0.9 [egress]"},
	{SAID("\"what\":\"query\",\"name\":\"\",\"type\":\"A\",\"outcome\":\"malformed\""),
	 "12:03:04 codex: query of what is no name (A) refused: malformed [egress]"},
	{SAID("\"what\":\"flow\",\"outcome\":\"cut\""),
	 "12:03:04 codex: ?:0 cut: 0 bytes up, 0 down, 0 ms [egress]"},
	{SAID("\"what\":\"query\",\"name\":\"a\""), NULL},
	{SAID("\"what\":\"query\",\"name\":[],\"outcome\":\"x\""), NULL},
	{SAID("\"what\":\"query\",\"outcome\":7"), NULL},
	{SAID("\"what\":\"connect\",\"outcome\":\"x\",\"port\":\"443\""), NULL},
	{SAID("\"what\":\"connect\",\"outcome\":\"x\",\"port\":-1"), NULL},
	{SAID("\"what\":\"violation\",\"outcome\":\"x\""), NULL},
	{SAID("\"what\":7,\"outcome\":\"x\""), NULL},
	{"{}", NULL},
};

static void test_egress_events(void **state _unused_)
{
	const struct egress_of of = {.compartment = 3, .name = "codex"};

	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		json_t *message = json_loads(said[i].said, 0, NULL);
		json_t *record = egress_event_record(&of, message, WHEN_NS);
		_cleanup_free_ char *line = record ? record_line(record) : NULL;

		assert_non_null(message);
		assert_int_equal(!line, !said[i].line);
		if (line)
			assert_string_equal(line, said[i].line);
		json_decref(record);
		json_decref(message);
	}
}

/* A text without end is none of ours. */
static void test_egress_long(void **state _unused_)
{
	const struct egress_of of = {.compartment = 3, .name = "codex"};
	char name[2000];
	json_t *message;

	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	message = json_pack("{s:s, s:s, s:s}", "what", "query", "outcome", "x", "name", name);
	assert_null(egress_event_record(&of, message, WHEN_NS));
	json_decref(message);
}

/* What the agent itself saw; of the relay there is no compartment. */
static void test_egress_records(void **state _unused_)
{
	const struct egress_of nobody = {0}, of = {.compartment = 3, .name = "co dex"};
	json_t *relay = egress_record(&nobody, "relay", "ended", "it hung up", WHEN_NS);
	json_t *grant = egress_record(&of, "grant", "expired", NULL, WHEN_NS);
	_cleanup_free_ char *a = record_line(relay), *b = record_line(grant);

	assert_string_equal(a, "12:03:04 relay ended: it hung up [egress]");
	assert_string_equal(b, "12:03:04 \"co dex\": grant expired [egress]");
	assert_null(json_object_get(relay, "compartment"));
	assert_string_equal(text_at(grant, "name"), "co dex");
	json_decref(relay);
	json_decref(grant);
}

static size_t bytes_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (size_t)st.st_size;
}

/* The file is bounded, and no symbolic link takes its place. */
static void test_sink(void **state _unused_)
{
	char dir[] = "/tmp/bulkhead-test-XXXXXX", path[64], old[64], link[64];
	struct sink *sink = NULL;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/events", dir);
	snprintf(old, sizeof(old), "%s/events.1", dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	assert_int_equal(sink_open(path, 25, (gid_t)-1, &sink), 0);
	for (int i = 0; i < 5; i++)
		sink_write(sink, "123456789\n", 10);
	assert_int_equal(sink_failed(sink), 0);
	assert_int_equal(bytes_of(path), 10);
	assert_int_equal(bytes_of(old), 20);
	sink_close(sink);
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(sink_open(link, 25, (gid_t)-1, &sink), -ELOOP);
	unlink(link);
	unlink(path);
	unlink(old);
	rmdir(dir);
}

/* A next file that cannot be made is made later; half a line of a dead writer spoils no other. */
static void test_sink_recovers(void **state _unused_)
{
	char dir[] = "/tmp/bulkhead-test-XXXXXX", path[64], old[64], text[64] = "";
	struct rlimit limit, none;
	struct sink *sink = NULL;
	FILE *f;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/events", dir);
	snprintf(old, sizeof(old), "%s/events.1", dir);
	f = fopen(path, "w");
	fputs("1234", f);
	fclose(f);
	assert_int_equal(sink_open(path, 25, (gid_t)-1, &sink), 0);
	sink_write(sink, "123456789\n", 10);
	getrlimit(RLIMIT_NOFILE, &limit);
	none = limit;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	for (int i = 0; i < 3; i++)
		sink_write(sink, "123456789\n", 10);
	setrlimit(RLIMIT_NOFILE, &limit);
	sink_write(sink, "abcdefghi\n", 10);
	assert_int_equal(sink_failed(sink), 0);
	sink_close(sink);
	assert_int_equal(bytes_of(path), 10);
	f = fopen(old, "r");
	assert_int_equal(fread(text, 1, sizeof(text) - 1, f), 45);
	fclose(f);
	assert_memory_equal(text, "1234\n123456789\n", 15);
	unlink(path);
	unlink(old);
	rmdir(dir);
}

/* A full disk costs records, counted exactly, and nothing else. */
static void test_full(void **state _unused_)
{
	char dir[] = "/tmp/bulkhead-test-XXXXXX", path[64], text[256] = "";
	struct rlimit old, small;
	struct sink *sink = NULL;
	FILE *f;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/events", dir);
	assert_int_equal(sink_open(path, 4096, (gid_t)-1, &sink), 0);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = 15;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (int i = 0; i < 4; i++)
		sink_write(sink, "123456789\n", 10);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(sink_failed(sink), 3);
	sink_write(sink, "abcdefghi\n", 10);
	sink_close(sink);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
	fclose(f);
	assert_memory_equal(text, "123456789\n{\"kind\":\"lost\"", 24);
	assert_non_null(strstr(text, "\"count\":3}\nabcdefghi\n"));
	unlink(path);
	rmdir(dir);
	/* Not a regular file: refused, whatever it would do to our writes. */
	assert_int_equal(sink_open("/dev/full", 25, (gid_t)-1, &sink), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),	       cmocka_unit_test(test_fields),
		cmocka_unit_test(test_escape),	       cmocka_unit_test(test_forged_line),
		cmocka_unit_test(test_longest),	       cmocka_unit_test(test_broken),
		cmocka_unit_test(test_repeated),       cmocka_unit_test(test_gap),
		cmocka_unit_test(test_order),	       cmocka_unit_test(test_jump),
		cmocka_unit_test(test_other_records),  cmocka_unit_test(test_sink),
		cmocka_unit_test(test_sink_recovers),  cmocka_unit_test(test_full),
		cmocka_unit_test(test_egress_events),  cmocka_unit_test(test_egress_long),
		cmocka_unit_test(test_egress_records),
	};

	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
