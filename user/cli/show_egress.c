// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What may leave compartments, and what does. */
#include <string.h>
#include "base/duration.h"
#include "cli.h"

/* Of a policy of many: --json has all. */
#define DESTINATIONS_SHOWN 6

/* In the largest unit that leaves nothing over: what is shown is what is enforced. */
static void format_bytes(uint64_t bytes, char *ret, size_t size)
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB"};
	size_t unit = 0;

	for (; unit + 1 < sizeof(units) / sizeof(*units) && bytes % 1024 == 0; unit++)
		bytes /= 1024;
	snprintf(ret, size, "%llu %s", (unsigned long long)bytes, units[unit]);
}

void show_terms(const char *to, const char *discloses, uint64_t max_upload, bool tls)
{
	char most[32];

	format_bytes(max_upload, most, sizeof(most));
	printf("    %s: at most %s of %s%s\n", to, most, discloses, tls ? ", over TLS" : "");
}

static void show_destinations(const json_t *egress)
{
	const json_t *list = json_object_get(egress, "destinations");
	size_t n = json_array_size(list), shown = n < DESTINATIONS_SHOWN ? n : DESTINATIONS_SHOWN;

	for (size_t i = 0; i < shown; i++)
		printf("%s%s", i ? ", " : "", text_of(json_array_get(list, i), "to"));
	if (n > shown)
		printf(", and %zu more", n - shown);
	if (json_is_true(json_object_get(egress, "proxy")))
		fputs(", by the proxy, too", stdout);
}

static void show_grant(const json_t *c, const json_t *grant)
{
	const json_t *left = json_object_get(grant, "left_ms"), *name;
	char text[DURATION_TEXT_SIZE];
	size_t i;

	if (!json_is_object(grant)) {
		printf("not granted (bulkhead grant %lld egress)",
		       (long long)json_integer_value(json_object_get(c, "id")));
		return;
	}
	fputs("granted", stdout);
	json_array_foreach (json_object_get(grant, "only"), i, name)
		printf("%s%s", i ? ", " : " to ", json_string_value(name) ?: "");
	if (json_is_integer(left))
		printf(" for another %s",
		       duration_format((uint64_t)json_integer_value(left), text));
	printf(" by uid %lld", (long long)json_integer_value(json_object_get(grant, "uid")));
}

void show_way_out(const json_t *c)
{
	const json_t *egress = json_object_get(c, "egress"), *net;
	const json_t *nets = json_object_get(egress, "outlets");
	size_t i, open = 0;

	if (!json_is_object(egress))
		return;
	printf("%s (%lld) egress: ", text_of(c, "name"),
	       (long long)json_integer_value(json_object_get(c, "id")));
	show_destinations(egress);
	fputs(": ", stdout);
	show_grant(c, json_object_get(egress, "grant"));
	json_array_foreach (nets, i, net)
		open += !strcmp(text_of(net, "state"), "open");
	printf("; outlets in %zu of %zu network namespace%s", open, json_array_size(nets),
	       plural(json_array_size(nets)));
	if (*text_of(egress, "why"))
		printf(": %s", text_of(egress, "why"));
	putchar('\n');
}

/* Told of nowhere else: a packet is nobody's system call. */
void show_dropped(const json_t *c)
{
	static const struct {
		const char *key, *text;
	} rows[] = {
		{"strayed", "led elsewhere than to members or the relay"},
		{"strangers", "others sent to its stub or the relay"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const json_t *tally = json_object_get(c, "tally");
		long long n = json_integer_value(json_object_get(tally, rows[i].key));

		if (n)
			printf("%s (%lld) network: %lld packet%s that %s dropped\n",
			       text_of(c, "name"),
			       (long long)json_integer_value(json_object_get(c, "id")), n,
			       plural((unsigned long long)n), rows[i].text);
	}
}

/* Nothing where nobody set it up. */
void show_relay(const json_t *agent)
{
	const json_t *egress = json_object_get(agent, "egress");
	long long deaths = json_integer_value(json_object_get(egress, "deaths"));
	long long pid = json_integer_value(json_object_get(egress, "pid"));

	if (!json_is_true(json_object_get(egress, "configured")))
		return;
	if (pid)
		printf("the relay of egress runs, process %lld", pid);
	else
		printf("the relay of egress does not run%s%s", *text_of(egress, "why") ? ": " : "",
		       text_of(egress, "why"));
	if (deaths)
		printf("; it ended %lld time%s", deaths, plural((unsigned long long)deaths));
	putchar('\n');
}
