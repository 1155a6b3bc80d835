// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The relay's process, played by this program: asked, heard, stopped, talking nonsense, dead, started again. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include "base/cleanup.h"
#include "base/clock.h"
#include "daemon/relay.h"
#include "fake_relay.h"

#define WAIT_US 20000000ull

struct heard {
	sd_event *event;
	struct relay *relay;
	int left; /* questions to ask yet */
	unsigned int asked, done, failed, told, died;
	char why[256], last[64];
	int verdict; /* of what it tells */
	int start;   /* of may_start */
	bool no_end; /* of questions, in each life */
	bool large;
};

static int may_start(void *data, struct error *error)
{
	struct heard *h = data;

	return h->start ? error_set(error, -h->start, "not now") : 0;
}

static bool next(void *data, struct relay_ask *ret)
{
	struct heard *h = data;

	if (!h->left)
		return false;
	*ret = (struct relay_ask){
		.message = json_pack("{s:s, s:i}", "do", "grant", "serial", (int)h->asked),
	};
	if (h->large) {
		char *pad = calloc(1, CHANNEL_MESSAGE);

		memset(pad, 'x', CHANNEL_MESSAGE - 1);
		json_object_set_new(ret->message, "pad", json_string(pad));
		free(pad);
	}
	return true;
}

static bool answered(void *data, int result, const char *why)
{
	struct heard *h = data;

	h->asked++;
	h->left -= !h->no_end;
	h->done += !result;
	h->failed += result < 0;
	snprintf(h->last, sizeof(h->last), "%d %s", result, why);
	return true;
}

static int heard(void *data, const json_t *message)
{
	struct heard *h = data;

	h->told++;
	assert_true(json_is_object(message));
	return h->verdict;
}

static void died(void *data, const char *why)
{
	struct heard *h = data;

	h->died++;
	snprintf(h->why, sizeof(h->why), "%s", why);
}

static const char *own_program(void)
{
	static char path[PATH_MAX];

	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	return path;
}

static void begin(struct heard *h, const char *program, const char *behaviour, int questions)
{
	struct relay_options options = {
		.program = program,
		.user = behaviour,
		.answer_ms = 1000,
		.pause_ms = 10,
		.pause_max_ms = 40,
		.steady_ms = 60000,
		.data = h,
		.may_start = may_start,
		.next = next,
		.answered = answered,
		.heard = heard,
		.died = died,
	};

	h->left = questions;
	assert_true(sd_event_new(&h->event) >= 0);
	assert_int_equal(relay_new(h->event, &options, &h->relay), 0);
	assert_int_equal(relay_pid(h->relay), 0);
	relay_want(h->relay, true);
}

static void end(struct heard *h)
{
	relay_free(h->relay);
	sd_event_unref(h->event);
}

static void run_until(struct heard *h, const unsigned int *count, unsigned int least)
{
	uint64_t until = clock_us() + WAIT_US;

	while (*count < least) {
		assert_true(clock_us() < until);
		assert_true(sd_event_run(h->event, 100000) >= 0);
	}
}

/* One question after another, each with its answer. */
static void test_good(void **state _unused_)
{
	struct heard h = {0};

	begin(&h, own_program(), "good", 50);
	run_until(&h, &h.done, 50);
	assert_true(relay_pid(h.relay) > 0);
	assert_string_equal(relay_why(h.relay), "");
	assert_int_equal(h.died + h.failed + h.told, 0);
	/* What comes later is asked when it is said that there is something. */
	h.left = 3;
	relay_poke(h.relay);
	run_until(&h, &h.done, 53);
	end(&h);
}

static void test_refused(void **state _unused_)
{
	struct heard h = {0};

	begin(&h, own_program(), "refuses-grant", 2);
	run_until(&h, &h.failed, 2);
	assert_string_equal(h.last, "-5 it does not want");
	assert_int_equal(h.died, 0);
	end(&h);
}

static void test_told(void **state _unused_)
{
	struct heard h = {0};

	begin(&h, own_program(), "tells-grant", 2);
	run_until(&h, &h.done, 2);
	assert_int_equal(h.told, 6);
	end(&h);
}

struct nonsense {
	const char *behaviour, *why;
};

static const struct nonsense bad[] = {
	{"dies-grant", "it exited with status 3: see its log"},
	{"stops-grant", "it did not answer in time: killed"},
	{"mute-grant", "it did not answer in time: killed"},
	{"hangs-grant", "it hung up"},
	{"garbage-grant", "what it said makes no sense: killed"},
	{"list-grant", "what it said makes no sense: killed"},
	{"wrong-grant", "what it said makes no sense: killed"},
	{"twice-grant", "what it said makes no sense: killed"},
	{"huge-grant", "what it said makes no sense: killed"},
};

/* Whatever goes wrong is its death, said once each time, and another is started. */
static void test_bad(void **state _unused_)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct heard h = {.no_end = true};

		begin(&h, own_program(), bad[i].behaviour, 1);
		run_until(&h, &h.died, 2);
		if (strcmp(h.why, bad[i].why) != 0)
			fail_msg("%s: %s", bad[i].behaviour, h.why);
		assert_int_equal(relay_deaths(h.relay), 2);
		end(&h);
	}
}

/* What it tells and what makes no sense to who hears it. */
static void test_nonsense_told(void **state _unused_)
{
	struct heard h = {.verdict = -EBADMSG};

	begin(&h, own_program(), "tells-grant", 1);
	run_until(&h, &h.died, 1);
	assert_string_equal(h.why, "what it said makes no sense: killed");
	assert_int_equal(h.told, 1);
	end(&h);
}

/* What it said before it died is heard. */
static void test_last_words(void **state _unused_)
{
	struct heard h = {0};

	begin(&h, own_program(), "parts-grant", 1);
	run_until(&h, &h.died, 1);
	assert_int_equal(h.told, 3);
	assert_string_equal(h.why, "it exited with status 4: see its log");
	end(&h);
}

/* And what it says when the agent ends. */
static void test_parting(void **state _unused_)
{
	struct heard h = {0};

	begin(&h, own_program(), "bows", 1);
	run_until(&h, &h.done, 1);
	assert_int_equal(h.told, 0);
	end(&h);
	assert_int_equal(h.told, 1);
	assert_int_equal(h.died, 0);
}

/* A question that is too long counts as refused, and harms nobody. */
static void test_too_long(void **state _unused_)
{
	struct heard h = {.large = true};

	begin(&h, own_program(), "good", 2);
	run_until(&h, &h.failed, 2);
	assert_int_equal(h.died, 0);
	end(&h);
}

/* One that cannot be run, and one that may not start, are tried again, later and later. */
static void test_no_start(void **state _unused_)
{
	struct heard h = {0};
	uint64_t until;

	begin(&h, "/nonexistent/relay", "good", 1);
	assert_string_equal(relay_why(h.relay), "/nonexistent/relay: No such file or directory");
	end(&h);

	h = (struct heard){.start = -EADDRINUSE};
	begin(&h, own_program(), "good", 1);
	assert_string_equal(relay_why(h.relay), "not now");
	for (until = clock_us() + 200000; clock_us() < until;)
		assert_true(sd_event_run(h.event, 10000) >= 0);
	assert_int_equal(h.done, 0);
	h.start = 0;
	run_until(&h, &h.done, 1);
	end(&h);
}

/* Not wanted any more it ends, and is not missed; wanted again it runs. */
static void test_want(void **state _unused_)
{
	struct heard h = {0};
	pid_t first;

	begin(&h, own_program(), "good", 1);
	run_until(&h, &h.done, 1);
	first = relay_pid(h.relay);
	relay_want(h.relay, false);
	assert_int_equal(relay_pid(h.relay), 0);
	h.left = 1;
	relay_want(h.relay, true);
	run_until(&h, &h.done, 2);
	assert_true(relay_pid(h.relay) > 0 && relay_pid(h.relay) != first);
	assert_int_equal(h.died, 0);
	end(&h);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),	      cmocka_unit_test(test_refused),
		cmocka_unit_test(test_told),	      cmocka_unit_test(test_bad),
		cmocka_unit_test(test_nonsense_told), cmocka_unit_test(test_last_words),
		cmocka_unit_test(test_too_long),      cmocka_unit_test(test_no_start),
		cmocka_unit_test(test_want),	      cmocka_unit_test(test_parting),
	};

	fake_relay(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
