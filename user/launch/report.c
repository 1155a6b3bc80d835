// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <sys/wait.h>

#define STATUS_UNKNOWN 125
#define STATUS_DEADLINE 124

static bool was_killed_by(const struct run_report *report, int signal)
{
	int status = report->life->status;

	return status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == signal;
}

/* What killed all of it says more than what its first process died of. */
const char *run_report_reason(const struct run_report *report)
{
	if (report->tally.tripped)
		return "tripwire";
	if (report->life->end == LIFE_DEADLINE)
		return "deadline";
	if (report->life->end == LIFE_CANCELLED)
		return "cancelled";
	if (was_killed_by(report, SIGKILL) && report->usage.memory_kills &&
	    report->usage.memory_kills != UINT64_MAX)
		return "memory";
	if (was_killed_by(report, SIGXFSZ))
		return "file-size";
	return report->life->end == LIFE_SIGNAL ? "signal" : "exit";
}

int run_report_status(const struct run_report *report)
{
	int status = report->life->status;

	if (report->life->end == LIFE_DEADLINE)
		return STATUS_DEADLINE;
	if (status < 0)
		return STATUS_UNKNOWN;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

const char *run_report_text(const struct run_report *report, char buffer[RUN_REPORT_TEXT_SIZE])
{
	const char *reason = run_report_reason(report);
	char limit[LIMIT_TEXT_SIZE];

	if (!strcmp(reason, "deadline"))
		snprintf(buffer, RUN_REPORT_TEXT_SIZE, "ended by its deadline of %s",
			 limit_format(LIMIT_WALL, report->limits[LIMIT_WALL], limit));
	else if (!strcmp(reason, "memory"))
		snprintf(buffer, RUN_REPORT_TEXT_SIZE, "ended by its limit of memory, %s",
			 limit_format(LIMIT_MEMORY, report->limits[LIMIT_MEMORY], limit));
	else if (!strcmp(reason, "file-size"))
		snprintf(buffer, RUN_REPORT_TEXT_SIZE, "ended by its limit of a file's size, %s",
			 limit_format(LIMIT_FILE_SIZE, report->limits[LIMIT_FILE_SIZE], limit));
	else if (report->usage.forks_refused && report->usage.forks_refused != UINT64_MAX)
		snprintf(buffer, RUN_REPORT_TEXT_SIZE,
			 "%llu new processes were refused by its limit of %s",
			 (unsigned long long)report->usage.forks_refused,
			 limit_format(LIMIT_PROCESSES, report->limits[LIMIT_PROCESSES], limit));
	else
		return NULL;
	return buffer;
}

/* A number, or null for what is not known. */
static void put(json_t *object, const char *key, __u64 value)
{
	json_object_set_new(object, key,
			    value == UINT64_MAX ? json_null() : json_integer((json_int_t)value));
}

static json_t *limits_json(const struct run_report *report)
{
	static const char *const units[] = {
		[LIMIT_FORM_TIME] = "_ms",
		[LIMIT_FORM_BYTES] = "_bytes",
		[LIMIT_FORM_COUNT] = "",
		[LIMIT_FORM_PERCENT] = "_percent",
	};
	json_t *object = json_object();
	char key[64];

	for (int i = 0; object && i < LIMITS; i++) {
		snprintf(key, sizeof(key), "%s%s", limit_rows[i].key, units[limit_rows[i].form]);
		for (char *c = key; *c; c++)
			*c = *c == '-' ? '_' : *c;
		put(object, key, report->limits[i]);
	}
	return object;
}

static json_t *usage_json(const struct run_report *report)
{
	const struct usage *usage = &report->usage;
	json_t *object = json_object();

	if (!object)
		return NULL;
	put(object, "wall_ms", (report->life->ended_us - report->life->begun_us) / 1000);
	put(object, "cpu_ms", usage->cpu_us == UINT64_MAX ? UINT64_MAX : usage->cpu_us / 1000);
	put(object, "memory_peak_bytes", usage->memory_peak);
	put(object, "processes_peak", usage->processes_peak);
	put(object, "memory_kills", usage->memory_kills);
	put(object, "forks_refused", usage->forks_refused);
	return object;
}

static json_t *tally_json(const struct run_report *report)
{
	const struct bh_tally *tally = &report->tally;
	json_t *object = report->no_tally ? json_null() : json_object();

	if (!json_is_object(object))
		return object;
	put(object, "refused", tally->refused);
	put(object, "reported", tally->reported);
	put(object, "quiet", tally->quiet);
	put(object, "folded", tally->folded);
	put(object, "lost", tally->lost);
	put(object, "undecided", tally->unsure);
	return object;
}

static json_t *started_json(const struct run_report *report)
{
	char text[sizeof("0000-00-00T00:00:00Z")] = "";
	struct tm tm;

	if (gmtime_r(&report->started, &tm))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_string(text);
}

json_t *run_report_json(const struct run_report *report)
{
	const struct life *life = report->life;
	bool signalled = life->status >= 0 && WIFSIGNALED(life->status);
	char digest[POLICY_DIGEST_SIZE];

	return json_pack("{s:i, s:s, s:s, s:s, s:o, s:s, s:i, s:o, s:o, s:o, s:o}", "schema", 1,
			 "compartment", report->name, "policy", report->policy->path, "digest",
			 policy_digest_text(report->policy, digest), "started",
			 started_json(report), "reason", run_report_reason(report), "status",
			 run_report_status(report), "signal",
			 signalled ? json_integer(WTERMSIG(life->status)) : json_null(), "limits",
			 limits_json(report), "usage", usage_json(report), "refusals",
			 tally_json(report));
}
