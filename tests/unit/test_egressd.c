// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* bulkhead-egressd: the program itself (egressd.h), and the parts of it that need no process. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "egressd.h"

#define N_OF(array) (sizeof(array) / sizeof(*(array)))
#define CONNECT_MS 10000

#define API "{'to': 'api.example.com:8443'}"

/* --- answers --- */

static void test_answers(void **state)
{
	_cleanup_scene_ struct scene s = scene_start(CONNECT_MS);
	struct ports ports = compartment(&s, 7, API ", {'to': '*.cdn.example.com:8443'}");
	struct learnt learnt;
	json_t *gave, *pair;

	(void)state;
	learnt = lookup(&ports, "api.example.com");
	assert_int_equal(learnt.address, SYNTHETIC + 1);
	gave = find_said(&s, "gave", "", "", WAIT_MS);
	assert_int_equal(number(gave, "serial"), 7);
	pair = json_array_get(json_object_get(gave, "names"), 0);
	assert_string_equal(json_string_value(json_array_get(pair, 0)), "198.18.0.1");
	assert_string_equal(json_string_value(json_array_get(pair, 1)), "api.example.com");
	json_decref(gave);
}

/* --- the relay --- */

static void test_flow(void **state)
{
	_cleanup_scene_ struct scene s = scene_start(CONNECT_MS);
	struct ports ports = compartment(&s, 7, API);
	struct talk talk = talk_start(&s, &ports, 7, "api.example.com");
	json_t *event;

	(void)state;
	assert_int_equal(shutdown(talk.client, SHUT_WR), 0);
	assert_int_equal(how_it_ends(talk.server), 0);
	carry(talk.server, talk.client, "more");
	close(talk.server);
	assert_int_equal(how_it_ends(talk.client), 0);
	close(talk.client);
	event = event_of(&s, "flow", "ended", "api.example.com");
	assert_int_equal(number(event, "serial"), 7);
	assert_int_equal(number(event, "port"), SERVER_PORT);
	assert_string_equal(field(event, "address"), "8.8.8.8");
	assert_int_equal(number(event, "up"), 5);
	assert_int_equal(number(event, "down"), 11);
	json_decref(event);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_flow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
