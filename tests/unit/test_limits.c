// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* limits: how each is written, its bounds, what it is when a policy says nothing; none can be written as no limit. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <signal.h>
#include "base/cleanup.h"
#include "launch/report.h"
#include "policy/policy.h"
#include "policy/rewrite.h"

#define N_OF(array) (sizeof(array) / sizeof(*(array)))
#define HEAD "version: 1\nname: t\nmode: enforce\nnetwork: none\n"
#define GIB (1ull << 30)

static int try_text(const char *text, struct policy **ret, struct error *error)
{
	const struct policy_options options = {.text = text};

	return policy_load("t.yaml", &options, ret, error);
}

static struct policy *load_text(const char *text)
{
	struct policy *policy = NULL;
	struct error error = {0};

	if (try_text(text, &policy, &error) < 0)
		fail_msg("%s in\n%s", error.text, text);
	return policy;
}

static void test_default(void **state)
{
	static const __u64 wanted[LIMITS] = {86400000, 400, 1024, 4 * GIB, 0, 16384, 16 * GIB};
	struct policy *policy = load_text(HEAD);

	(void)state;
	for (int i = 0; i < LIMITS; i++)
		assert_int_equal(policy->limits[i], wanted[i]);
	policy_free(policy);
}

static void test_given(void **state)
{
	static const __u64 wanted[LIMITS] = {5400000, 50, 7, 512 << 20, 1 << 20, 64, 4096};
	struct policy *policy = load_text(
		HEAD "limits: {wall: 90m, cpu: 50%, processes: 7, memory: 512MiB, swap: 1MiB,\n"
		     "  open-files: 64, file-size: 4096}\n");

	(void)state;
	for (int i = 0; i < LIMITS; i++)
		assert_int_equal(policy->limits[i], wanted[i]);
	policy_free(policy);
}

/* One is given: the others stay. */
static void test_some(void **state)
{
	struct policy *policy = load_text(HEAD "limits: {processes: 4194304}\n");

	(void)state;
	assert_int_equal(policy->limits[LIMIT_PROCESSES], 4194304);
	assert_int_equal(policy->limits[LIMIT_WALL], 86400000);
	policy_free(policy);
}

static const struct {
	const char *limit, *error;
} bad[] = {
	{"wall: unlimited", "5:16: wall \"unlimited\": write a number and s, m, h or d"},
	{"wall: infinity", "wall \"infinity\": write a number and s, m, h or d"},
	{"wall: 0s", "wall \"0s\": write 1s to 365d"},
	{"wall: 366d", "wall \"366d\": write 1s to 365d"},
	{"wall: 10", "wall \"10\": write a number and s"},
	{"wall: -1s", "wall \"-1s\""},
	{"wall: 1h30m", "wall \"1h30m\""},
	{"cpu: 0%", "cpu \"0%\": too little; it is finite, from 1% to 409600%"},
	{"cpu: 2", "cpu \"2\": write a number and %, as in 150%"},
	{"cpu: 1.5%", "cpu \"1.5%\": write a number and %"},
	{"cpu: 409601%", "too much"},
	{"processes: max",
	 "processes \"max\": write a number, as in 64; it is finite, from 1 to 4194304"},
	{"processes: 0", "too little"},
	{"processes: 4194305", "too much"},
	{"processes: 9999999999", "write a number"},
	{"processes: 0x10", "write a number"},
	{"processes: ' 7'", "write a number"},
	{"memory: max", "memory \"max\""},
	{"memory: 0", "memory \"0\": too little; it is finite, from 1MiB to 1048576GiB"},
	{"memory: 1023KiB", "too little"},
	{"memory: 4G", "write KiB, MiB or GiB"},
	{"memory: 1048577GiB", "too much"},
	{"memory: 99999999999999999999", "too many"},
	{"swap: none", "swap \"none\""},
	{"swap: 00", "write a number above 0"},
	{"open-files: 15", "too little"},
	{"open-files: 1048577", "too much"},
	{"file-size: 0", "too little"},
	{"storage: 1GiB", "unknown key storage: write one of wall, cpu, processes"},
	{"wall: [1h]", "limits.wall must be one word"},
};

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_OF(bad); i++) {
		struct policy *policy = NULL;
		struct error error = {0};
		char text[256];

		snprintf(text, sizeof(text), HEAD "limits: {%s}\n", bad[i].limit);
		if (try_text(text, &policy, &error) == 0)
			fail_msg("%s is taken", bad[i].limit);
		if (!strstr(error.text, bad[i].error))
			fail_msg("%s: %s; expected: %s", bad[i].limit, error.text, bad[i].error);
	}
}

static void test_nothing(void **state)
{
	struct policy *policy = NULL;
	struct error error = {0};

	(void)state;
	assert_int_equal(try_text(HEAD "limits: {}\n", &policy, &error), -EINVAL);
	assert_non_null(strstr(error.text, "limits is empty"));
	assert_int_equal(try_text(HEAD "limits: none\n", &policy, &error), -EINVAL);
	assert_non_null(strstr(error.text, "limits must be a mapping"));
}

/* What is printed can be read again. */
static void test_format(void **state)
{
	static const struct {
		enum limit limit;
		const char *text;
	} texts[] = {
		{LIMIT_WALL, "24h"},	   {LIMIT_WALL, "90m"},	       {LIMIT_CPU, "150%"},
		{LIMIT_PROCESSES, "1024"}, {LIMIT_MEMORY, "512MiB"},   {LIMIT_MEMORY, "1025KiB"},
		{LIMIT_SWAP, "0"},	   {LIMIT_FILE_SIZE, "16GiB"}, {LIMIT_FILE_SIZE, "4097"},
	};
	static const char *const formatted[] = {"1d",	   "1h 30m", "150%",  "1024", "512MiB",
						"1025KiB", "0",	     "16GiB", "4097"};
	char buffer[LIMIT_TEXT_SIZE];
	const char *why;
	__u64 value;

	(void)state;
	for (size_t i = 0; i < N_OF(texts); i++) {
		assert_int_equal(limit_parse(texts[i].limit, texts[i].text, &value, &why), 0);
		assert_string_equal(limit_format(texts[i].limit, value, buffer), formatted[i]);
	}
}

static void test_rewrite(void **state)
{
	char path[] = "/tmp/test_limits.XXXXXX", *again = NULL;
	_cleanup_close_ int fd = mkstemp(path);
	struct error error = {0};
	size_t n;
	FILE *to = open_memstream(&again, &n);

	(void)state;
	assert_true(fd >= 0 && to);
	assert_true(dprintf(fd, "%s", HEAD "limits: {swap: 0, wall: 90m}\n") > 0);
	assert_int_equal(policy_rewrite(path, &(struct rewrite){0}, to, &error), 0);
	fclose(to);
	unlink(path);
	assert_non_null(strstr(again, "limits: {wall: 90m, swap: 0}\n"));
	free(again);
}

/* --- the report --- */

struct ended {
	enum life_end end;
	int status; /* as wait(2) has it */
	__u64 kills, tripped;
	const char *reason;
	int exits;
};

static const struct ended ended[] = {
	{LIFE_EXIT, 0, 0, 0, "exit", 0},
	{LIFE_EXIT, W_EXITCODE(3, 0), 0, 0, "exit", 3},
	{LIFE_EXIT, W_EXITCODE(3, 0), 5, 0, "exit", 3}, /* a child of it was killed */
	{LIFE_SIGNAL, SIGSEGV, 0, 0, "signal", 128 + SIGSEGV},
	{LIFE_SIGNAL, SIGKILL, 0, 0, "signal", 137},
	{LIFE_SIGNAL, SIGKILL, 1, 0, "memory", 137},
	{LIFE_SIGNAL, SIGKILL, UINT64_MAX, 0, "signal", 137}, /* not known */
	{LIFE_SIGNAL, SIGXFSZ, 0, 0, "file-size", 128 + SIGXFSZ},
	{LIFE_DEADLINE, SIGKILL, 0, 0, "deadline", 124},
	{LIFE_DEADLINE, 0, 0, 0, "deadline", 124}, /* put its things in order */
	{LIFE_CANCELLED, W_EXITCODE(0, 0), 0, 0, "cancelled", 0},
	{LIFE_CANCELLED, SIGKILL, 0, 0, "cancelled", 137},
	{LIFE_SIGNAL, SIGKILL, 0, 1, "tripwire", 137},
	{LIFE_EXIT, -1, 0, 0, "exit", 125},
};

static void test_report(void **state)
{
	struct policy *policy = load_text(HEAD);
	json_t *json;

	(void)state;
	for (size_t i = 0; i < N_OF(ended); i++) {
		const struct life life = {.end = ended[i].end,
					  .status = ended[i].status,
					  .begun_us = 1000,
					  .ended_us = 3000};
		const struct run_report report = {.name = "n",
						  .policy = policy,
						  .life = &life,
						  .limits = policy->limits,
						  .usage = {.cpu_us = UINT64_MAX,
							    .memory_kills = ended[i].kills},
						  .tally = {.tripped = ended[i].tripped}};

		assert_string_equal(run_report_reason(&report), ended[i].reason);
		assert_int_equal(run_report_status(&report), ended[i].exits);
		json = run_report_json(&report);
		assert_non_null(json);
		assert_string_equal(json_string_value(json_object_get(json, "reason")),
				    ended[i].reason);
		assert_true(
			json_is_null(json_object_get(json_object_get(json, "usage"), "cpu_ms")));
		assert_int_equal(json_integer_value(json_object_get(json_object_get(json, "usage"),
								    "wall_ms")),
				 2);
		json_decref(json);
	}
	policy_free(policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_default), cmocka_unit_test(test_given),
		cmocka_unit_test(test_some),	cmocka_unit_test(test_bad),
		cmocka_unit_test(test_nothing), cmocka_unit_test(test_format),
		cmocka_unit_test(test_rewrite), cmocka_unit_test(test_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
