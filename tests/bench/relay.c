// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The relay (bulkhead-egressd as it is, in its sandbox) against a direct connection, against proxies as plain tunnels
 * (CONNECT), and against a bare relay that does nothing but carry: throughput, connections a second, what a round trip
 * takes longer, and the relay's memory. Each round measures every way, and what is compared was measured in the same
 * round: figures are medians of the rounds' ratios, with the lowest and the highest. What was measured goes into FILE,
 * as JSON (run-relay).
 *
 * The machine's processors are the client's, the server's and those of what stands between: where they are fewer than
 * these three, a ratio to direct says how processors are shared out. What stays is the time that a GB or a connection
 * keeps a processor in the process between (without its interrupts), which is told beside, and what the bare relay has of
 * direct. BBR, where the host has it, sends by timers, each hop by its own.
 */
#include "relay.h"

#include <getopt.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "clock.h"

#define ROUNDS 13
#define MAX_ROUNDS 99

#define GOAL_THROUGHPUT 0.85
#define GOAL_MEMORY_KB 16384

void bench_die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "relay: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	_exit(1);
}

/* --- what is measured --- */

enum kind { DOWNLOAD, UPLOAD, CONNECTIONS, P50, P99 };

static struct figure {
	const char *name, *unit;
	enum kind kind;
	size_t n; /* streams, or connections at once */
	double scale;
	double values[ALL_WAYS][MAX_ROUNDS];
	double cpu_ns[WAYS][MAX_ROUNDS]; /* for each byte or connection */
} figures[] = {
	{"download, 1 stream", "Gbit/s", DOWNLOAD, 1, 8e-9, {}, {}},
	{"download, 8 streams", "Gbit/s", DOWNLOAD, 8, 8e-9, {}, {}},
	{"upload, 1 stream", "Gbit/s", UPLOAD, 1, 8e-9, {}, {}},
	{"upload, 8 streams", "Gbit/s", UPLOAD, 8, 8e-9, {}, {}},
	{"connections, 1 at once", "1/s", CONNECTIONS, 1, 1, {}, {}},
	{"connections, 32 at once", "1/s", CONNECTIONS, 32, 1, {}, {}},
	{"round trip, p50", "us", P50, 1, 1e-3, {}, {}},
	{"round trip, p99", "us", P99, 1, 1e-3, {}, {}},
};
#define NFIGURES (sizeof(figures) / sizeof(*figures))

static size_t rounds = ROUNDS;
static const char *only = ""; /* figures whose names begin so */
static const char *congestion;
static struct memory idle, held;

/* P99 stands behind P50, and comes with it. */
static void measure(struct figure *figure, enum way way, size_t round)
{
	struct rate rate;

	switch (figure->kind) {
	case DOWNLOAD:
		rate = load_streams(way, PEER_DOWNLOAD, figure->n);
		break;
	case UPLOAD:
		rate = load_streams(way, PEER_UPLOAD, figure->n);
		break;
	case CONNECTIONS:
		rate = load_connections(way, figure->n);
		break;
	case P50:
		load_round_trips(way, &figure->values[way][round], &figure[1].values[way][round]);
		return;
	case P99:
		return;
	}
	figure->values[way][round] = rate.per_s;
	figure->cpu_ns[way][round] = rate.cpu_ns;
}

static bool is_measured(const struct figure *figure, enum way way)
{
	return !strncmp(figure->name, only, strlen(only)) && way_is_there(way) &&
	       (way < WAYS || figure->kind >= P50);
}

/* Each round begins with another way. */
static void measure_round(size_t round)
{
	for (size_t i = 0; i < NFIGURES; i++)
		for (size_t j = 0; j < ALL_WAYS; j++) {
			enum way way = (enum way)((round + j) % ALL_WAYS);

			if (is_measured(&figures[i], way))
				measure(&figures[i], way, round);
		}
}

static void measure_memory(void)
{
	static int fds[HELD_FLOWS];

	ways_hold(fds);
	held = ways_relay_memory();
	for (int i = 0; i < HELD_FLOWS; i++)
		close(fds[i]);
}

/* --- medians --- */

struct spread {
	double low, median, high;
};

static struct spread spread_of(double *values)
{
	struct spread spread = {.median = median(values, rounds)};

	spread.low = values[0];
	spread.high = values[rounds - 1];
	return spread;
}

static struct spread values_of(const struct figure *figure, enum way way)
{
	double values[MAX_ROUNDS];

	for (size_t i = 0; i < rounds; i++)
		values[i] = figure->values[way][i] * figure->scale;
	return spread_of(values);
}

static struct spread ratios_of(const struct figure *figure, enum way way, enum way to)
{
	double values[MAX_ROUNDS];

	for (size_t i = 0; i < rounds; i++)
		values[i] = figure->values[way][i] / figure->values[to][i];
	return spread_of(values);
}

static struct spread added_of(const struct figure *figure, enum way way)
{
	double values[MAX_ROUNDS];

	for (size_t i = 0; i < rounds; i++)
		values[i] =
			(figure->values[way][i] - figure->values[WAY_DIRECT][i]) * figure->scale;
	return spread_of(values);
}

/* --- what is said --- */

static json_t *goals;

__attribute__((format(printf, 2, 3))) static void say_goal(bool met, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	printf("  %-6s %s\n", met ? "met" : "MISSED", text);
	json_array_append_new(goals, json_pack("{s:s, s:b}", "goal", text, "met", met));
}

/* What it keeps a processor busy: the machine's load changes that least. */
static void say_cpu(const struct figure *figure, enum way way)
{
	double values[MAX_ROUNDS];

	memcpy(values, figure->cpu_ns[way], sizeof(values));
	if (figure->kind == CONNECTIONS)
		printf("; CPU %.1f us each", median(values, rounds) * 1e-3);
	else
		printf("; CPU %.3f s a GB", median(values, rounds));
}

static void say_way(const struct figure *figure, enum way way)
{
	struct spread value = values_of(figure, way);
	struct spread more =
		figure->kind >= P50 ? added_of(figure, way) : ratios_of(figure, way, WAY_DIRECT);

	printf("  %-10s %9.2f, %s %.2f (%.2f to %.2f)", way_names[way], value.median,
	       figure->kind >= P50 ? "beyond direct" : "of direct", more.median, more.low,
	       more.high);
	if (figure->kind < P50)
		say_cpu(figure, way);
	printf("\n");
}

static void say_figure(const struct figure *figure)
{
	struct spread direct = values_of(figure, WAY_DIRECT);

	printf("%s, %s\n  %-10s %9.2f (%.2f to %.2f)\n", figure->name, figure->unit, "direct",
	       direct.median, direct.low, direct.high);
	for (int way = WAY_RELAY; way < ALL_WAYS; way++)
		if (is_measured(figure, (enum way)way))
			say_way(figure, (enum way)way);
}

static void judge_proxies(const struct figure *figure)
{
	for (int way = WAY_SQUID; way < WAYS; way++) {
		struct spread ratio;

		if (!way_is_there((enum way)way))
			continue;
		ratio = ratios_of(figure, WAY_RELAY, (enum way)way);
		say_goal(ratio.median > 1, "%s: %.2f of %s (%.2f to %.2f), above 1", figure->name,
			 ratio.median, way_names[way], ratio.low, ratio.high);
	}
}

static void judge(const struct figure *figure)
{
	struct spread direct = ratios_of(figure, WAY_RELAY, WAY_DIRECT);
	struct spread added = added_of(figure, WAY_RELAY);
	struct spread loopback;

	switch (figure->kind) {
	case DOWNLOAD:
	case UPLOAD:
		say_goal(direct.median >= GOAL_THROUGHPUT,
			 "%s: %.2f of direct (%.2f to %.2f), at least %.2f", figure->name,
			 direct.median, direct.low, direct.high, GOAL_THROUGHPUT);
		judge_proxies(figure);
		break;
	case CONNECTIONS:
		judge_proxies(figure);
		break;
	case P50:
		break;
	case P99:
		loopback = values_of(figure, WAY_LOOPBACK);
		say_goal(added.median <= loopback.median,
			 "%s: %.1f us beyond direct (%.1f to %.1f), at most that over loopback: "
			 "%.1f",
			 figure->name, added.median, added.low, added.high, loopback.median);
		break;
	}
}

static void say_all(void)
{
	goals = json_array();
	printf("relay: %zu rounds, %ld processors; median (lowest to highest)\n", rounds,
	       sysconf(_SC_NPROCESSORS_ONLN));
	for (size_t i = 0; i < NFIGURES; i++)
		if (is_measured(&figures[i], WAY_DIRECT))
			say_figure(&figures[i]);
	printf("memory of the relay: at first RSS %lu KiB, PSS %lu; at %d open flows RSS %lu, PSS "
	       "%lu\n",
	       idle.rss_kb, idle.pss_kb, HELD_FLOWS, held.rss_kb, held.pss_kb);
	printf("goals\n");
	for (size_t i = 0; i < NFIGURES; i++)
		if (is_measured(&figures[i], WAY_DIRECT))
			judge(&figures[i]);
	say_goal(held.rss_kb <= GOAL_MEMORY_KB, "memory at %d open flows: RSS %.1f MiB, at most %u",
		 HELD_FLOWS, (double)held.rss_kb / 1024, GOAL_MEMORY_KB / 1024);
}

/* --- what is kept --- */

static json_t *values_json(const double *values, double scale)
{
	json_t *json = json_array();

	for (size_t i = 0; i < rounds; i++)
		json_array_append_new(json, json_real(values[i] * scale));
	return json;
}

static json_t *figure_json(const struct figure *figure)
{
	json_t *ways = json_object(), *cpu = json_object();

	for (int way = 0; way < ALL_WAYS; way++) {
		if (!is_measured(figure, (enum way)way))
			continue;
		json_object_set_new(ways, way_names[way],
				    values_json(figure->values[way], figure->scale));
		if (way != WAY_DIRECT && figure->kind < P50)
			json_object_set_new(cpu, way_names[way],
					    values_json(figure->cpu_ns[way], 1));
	}
	return json_pack("{s:s, s:s, s:o, s:o}", "figure", figure->name, "unit", figure->unit,
			 "ways", ways, "cpu_ns", cpu);
}

static json_t *memory_json(const struct memory *memory)
{
	return json_pack("{s:I, s:I}", "rss_kb", (json_int_t)memory->rss_kb, "pss_kb",
			 (json_int_t)memory->pss_kb);
}

static void keep(const char *path)
{
	json_t *all = json_array(), *root;

	for (size_t i = 0; i < NFIGURES; i++)
		json_array_append_new(all, figure_json(&figures[i]));
	root = json_pack("{s:I, s:o, s:{s:o, s:o, s:i}, s:o}", "processors",
			 (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "figures", all, "memory",
			 "at_first", memory_json(&idle), "held", memory_json(&held), "flows",
			 HELD_FLOWS, "goals", goals);
	if (json_dump_file(root, path, JSON_INDENT(1) | JSON_REAL_PRECISION(6)))
		bench_die("%s is not written", path);
	json_decref(root);
}

static bool read_arguments(int argc, char **argv, const char **ret_path)
{
	static const struct option options[] = {{"rounds", required_argument, NULL, 'r'},
						{"only", required_argument, NULL, 'o'},
						{"congestion", required_argument, NULL, 'c'},
						{}};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (option == 'r')
			rounds = strtoul(optarg, NULL, 10);
		else if (option == 'o')
			only = optarg;
		else if (option == 'c')
			congestion = optarg;
		else
			return false;
	}
	*ret_path = argv[optind];
	return argc == optind + 1 && rounds && rounds <= MAX_ROUNDS;
}

int main(int argc, char **argv)
{
	const char *path;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!read_arguments(argc, argv, &path))
		bench_die("usage: relay [--rounds N] [--only FIGURE] [--congestion NAME] FILE");
	ways_open(congestion);
	idle = ways_relay_memory();
	for (size_t i = 0; i < rounds; i++)
		measure_round(i);
	measure_memory();
	ways_close();
	say_all();
	keep(path);
	return 0;
}
