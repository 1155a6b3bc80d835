// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which way the kernel sends what goes to an address: in a network namespace whose routes are made here. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include "egress/route.h"
#include "netns.h"

#define N_OF(array) (sizeof(array) / sizeof(*(array)))

/* Documentation's networks (RFC 5737, RFC 3849) as this host's; behind the gateways is everything else. */
static const char setting[] = "link set lo up\n"
			      "link add near type veth peer name far\n"
			      "link set near up\n"
			      "link set far up\n"
			      "link add other type veth peer name yonder\n"
			      "link set other up\n"
			      "addr add 203.0.113.2/24 dev near\n"
			      "addr add 2001:db8::2/64 dev near nodad\n"
			      "route add default via 203.0.113.1\n"
			      "route add 192.0.2.0/24 dev near\n"
			      "route add blackhole 198.51.100.1\n"
			      "route add unreachable 198.51.100.2\n"
			      "route add prohibit 198.51.100.3\n"
			      "route add 192.88.100.1 nexthop via 203.0.113.1 dev near "
			      "nexthop via 203.0.113.3 dev near\n"
			      "route add 192.88.100.2 nexthop via 203.0.113.1 dev near "
			      "nexthop dev near\n"
			      "rule add ipproto tcp dport 443 to 192.88.100.3 lookup 77\n"
			      "route add 192.88.100.3 dev near table 77\n"
			      "route add 198.51.100.4 via inet6 2001:db8::1 dev near\n"
			      "route add ::/0 via 2001:db8::1\n"
			      "route add 2001:db8:1::/48 dev near\n"
			      "route add blackhole 2001:db8:2::1\n"
			      "route add unreachable 2001:db8:2::2\n"
			      "route add prohibit 2001:db8:2::3\n";

static const struct {
	const char *address;
	int result;
	const char *reason;
} rows[] = {
	{"8.8.8.8", 0, NULL},
	{"198.51.100.4", 0, NULL}, /* an IPv4 route by a gateway of IPv6 */
	{"2606:4700::1111", 0, NULL},
	/* Of several ways each is by a gateway, or one is not. */
	{"192.88.100.1", 0, NULL},
	{"192.88.100.2", -EPERM, "on a network of this host: no gateway leads there"},
	/* By its port. */
	{"192.88.100.3", -EPERM, "on a network of this host: no gateway leads there"},
	/* The host's own, public or not. */
	{"127.0.0.1", -EPERM, "an address of this host"},
	{"203.0.113.2", -EPERM, "an address of this host"},
	{"::1", -EPERM, "an address of this host"},
	{"2001:db8::2", -EPERM, "an address of this host"},
	/* Its networks', the gateways themselves among them. */
	{"203.0.113.1", -EPERM, "on a network of this host: no gateway leads there"},
	{"203.0.113.77", -EPERM, "on a network of this host: no gateway leads there"},
	{"192.0.2.1", -EPERM, "on a network of this host: no gateway leads there"},
	{"2001:db8::1", -EPERM, "on a network of this host: no gateway leads there"},
	{"2001:db8:1::9", -EPERM, "on a network of this host: no gateway leads there"},
	{"203.0.113.255", -EPERM, "a broadcast address of a network of this host"},
	{"224.0.0.1", -EPERM, "a multicast address"},
	{"ff02::1", -EPERM, "a multicast address"},
	{"198.51.100.1", -ENETUNREACH, "routed nowhere"},
	{"198.51.100.2", -ENETUNREACH, "no route leads there"},
	{"198.51.100.3", -ENETUNREACH, "prohibited by this host's routes"},
	{"2001:db8:2::1", -ENETUNREACH, "routed nowhere"},
	{"2001:db8:2::2", -ENETUNREACH, "no route leads there"},
	{"2001:db8:2::3", -ENETUNREACH, "prohibited by this host's routes"},
};

static void check(struct routes *routes, const char *text, int result, const char *reason)
{
	struct address address;
	const char *why = "";
	int r;

	assert_int_equal(address_parse(text, &address), 0);
	r = routes_check(routes, &address, 443, &why);
	if (r != result || (reason && strcmp(why, reason)))
		fail_msg("%s: %d, %s", text, r, why);
}

static void test_routes(void **state)
{
	_cleanup_routes_ struct routes *routes = NULL;
	int before = netns_enter();

	(void)state;
	netns_set(setting);
	netns_wait_own("2001:db8::2");
	assert_int_equal(routes_open(&routes), 0);
	netns_leave(&before);
	/* Of where it was opened, wherever it is asked from. */
	for (size_t i = 0; i < N_OF(rows); i++)
		check(routes, rows[i].address, rows[i].result, rows[i].reason);
}

/* Routes come and go: nothing is remembered. */
static void test_changed(void **state)
{
	_cleanup_routes_ struct routes *routes = NULL;
	_cleanup_netns_ int before = netns_enter();

	(void)state;
	assert_int_equal(routes_open(&routes), 0);
	check(routes, "8.8.8.8", -ENETUNREACH, "no route leads there");
	netns_set(setting);
	netns_wait_own("2001:db8::2");
	check(routes, "8.8.8.8", 0, NULL);
	netns_set("route add 8.8.8.0/24 dev near\n");
	check(routes, "8.8.8.8", -EPERM, "on a network of this host: no gateway leads there");
	netns_set("addr add 8.8.4.4/32 dev lo\n");
	check(routes, "8.8.4.4", -EPERM, "an address of this host");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_routes),
		cmocka_unit_test(test_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
