// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What of egress outlives the agent: names and grants, written, read again, damaged, and another's. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include "daemon/kept.h"
#include "egress/allowances.h"
#include "tree.h"

static int make_directory(void **state)
{
	char *path = strdup("/tmp/bulkhead-kept-XXXXXX");

	assert_non_null(mkdtemp(path));
	*state = path;
	return 0;
}

static int remove_directory(void **state)
{
	int r = tree_remove(*state);

	free(*state);
	return r;
}

static const struct kept_of mine = {.serial = 7,
				    .cgroup_id = 4711,
				    .boot = "01234567-89ab-cdef-0123-456789abcdef",
				    .range = "198.18.0.0/15"};

static char *file_of(const char *directory, const char *name)
{
	char *path;

	assert_true(asprintf(&path, "%s/%s", directory, name) > 0);
	return path;
}

static void check_names(const char *directory, const struct kept_of *of, size_t n)
{
	struct kept_names names;

	assert_int_equal(kept_names_open(directory, of, &names), 0);
	assert_int_equal(names.n, n);
	assert_true(names.fd >= 0);
	kept_names_done(&names);
}

static void give(const char *directory)
{
	struct kept_names names;

	assert_int_equal(kept_names_open(directory, &mine, &names), 0);
	assert_int_equal(kept_names_add(&names, "198.18.0.1", "a.example.com"), 0);
	assert_int_equal(kept_names_add(&names, "198.18.0.2", "b.example.com"), 0);
	/* Once more: nothing new. */
	assert_int_equal(kept_names_add(&names, "198.18.0.1", "a.example.com"), 0);
	kept_names_done(&names);
}

/* Round trip, and more at another time. */
static void test_names(void **state)
{
	const char *directory = *state;
	struct kept_names names;

	give(directory);
	assert_int_equal(kept_names_open(directory, &mine, &names), 0);
	assert_int_equal(names.n, 2);
	assert_int_equal(names.names[1].address, 0xc6120002);
	assert_string_equal(names.names[1].name, "b.example.com");
	assert_int_equal(kept_names_add(&names, "198.18.0.3", "c.example.com"), 0);
	kept_names_done(&names);
	check_names(directory, &mine, 3);
}

/* An address stands for one name, and a name has one address. What is no address or no name is nothing. */
static void test_contradictions(void **state)
{
	static const struct {
		const char *address, *name;
	} rows[] = {
		{"198.18.0.1", "b.example.com"},   {"198.18.0.9", "a.example.com"},
		{"198.18.0", "c.example.com"},	   {"::1", "c.example.com"},
		{"198.18.0.9", "C.example.com"},   {"198.18.0.9", "c.example.com."},
		{"198.18.0.9", "c .example.com"},  {"198.18.0.9", ""},
		{"198.18.0.9\n", "c.example.com"},
	};
	struct kept_names names;

	give(*state);
	assert_int_equal(kept_names_open(*state, &mine, &names), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(kept_names_add(&names, rows[i].address, rows[i].name), -EBADMSG);
	assert_int_equal(names.n, 2);
	kept_names_done(&names);
}

static void test_cut(void **state)
{
	struct kept_names names;

	give(*state);
	assert_int_equal(kept_names_open(*state, &mine, &names), 0);
	kept_names_cut(&names, &mine, 1);
	assert_int_equal(names.n, 1);
	assert_int_equal(kept_names_add(&names, "198.18.0.9", "b.example.com"), 0);
	kept_names_done(&names);
	check_names(*state, &mine, 2);
}

/* Another compartment's, or from before the host was started: nothing, and it begins anew. */
static void test_others(void **state)
{
	struct kept_of other = mine;

	give(*state);
	other.cgroup_id++;
	check_names(*state, &other, 0);
	check_names(*state, &mine, 0);
	give(*state);
	other = mine;
	other.boot[0] = 'f';
	check_names(*state, &other, 0);
	/* In another range those addresses are nobody's. */
	kept_forget(*state, mine.serial);
	give(*state);
	other = mine;
	strcpy(other.range, "10.0.0.0/8");
	check_names(*state, &other, 0);
}

static void spoil(const char *directory, const char *text, bool append)
{
	_cleanup_free_ char *path = file_of(directory, "7");
	_cleanup_close_ int fd = open(path, O_WRONLY | (append ? O_APPEND : O_TRUNC));

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* Up to where it makes no sense it is believed, and written anew without the rest. */
static void test_damage(void **state)
{
	static const struct {
		const char *text;
		bool append;
		size_t n;
	} rows[] = {
		{"198.18.0.3 c.exam", true, 2},
		{"198.18.0.3 c.example.com\n198.18.0.4\n198.18.0.5 d.example.com\n", true, 3},
		{"198.18.0.1 z.example.com\n198.18.0.5 d.example.com\n", true, 2},
		{"\n", true, 2},
		{"", false, 0},
		{"names 7 4711\n", false, 0},
		{"names 7 4711 01234567-89ab-cdef-0123-456789abcdef 198.18.0.0/15", false, 0},
		{"names 7 4711 01234567-89ab-cdef-0123-456789abcdef 198.18.0.0/15\n198.18.0.1",
		 false, 0},
		{"\xff\xfe", false, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		kept_forget(*state, mine.serial);
		give(*state);
		spoil(*state, rows[i].text, rows[i].append);
		check_names(*state, &mine, rows[i].n);
		check_names(*state, &mine, rows[i].n);
	}
}

static void test_full(void **state)
{
	struct kept_names names;
	char address[32], name[64];

	assert_int_equal(kept_names_open(*state, &mine, &names), 0);
	for (unsigned int i = 0; i <= KEPT_MAX_NAMES; i++) {
		snprintf(address, sizeof(address), "198.18.%u.%u", i / 250, i % 250 + 1);
		snprintf(name, sizeof(name), "n%u.example.com", i);
		assert_int_equal(kept_names_add(&names, address, name),
				 i < KEPT_MAX_NAMES ? 0 : -ENOSPC);
	}
	kept_names_done(&names);
	check_names(*state, &mine, KEPT_MAX_NAMES);
}

/* Where nothing can be written it is known as long as the agent lives. */
static void test_unwritable(void **state _unused_)
{
	struct kept_names names;

	assert_int_equal(kept_names_open("/nonexistent", &mine, &names), 0);
	assert_int_equal(names.fd, -1);
	assert_int_equal(kept_names_add(&names, "198.18.0.1", "a.example.com"), 0);
	assert_int_equal(names.n, 1);
	kept_names_done(&names);
}

/* --- grants --- */

static void test_grant(void **state)
{
	char *only[] = {"a.example.com", "b.example.com", NULL};
	struct grant grant = {
		.given = true, .until_ms = boot_ms() + 60000, .only = only, .uid = 1000};
	struct kept_of other = mine;
	struct grant read = {0};
	uint64_t left;

	assert_int_equal(grant_load(*state, &mine, &read), -ENOENT);
	assert_int_equal(grant_save(*state, &mine, &grant), 0);
	assert_int_equal(grant_load(*state, &mine, &read), 0);
	left = grant_left_ms(&read);
	assert_true(read.given && left > 50000 && left <= 60000);
	assert_int_equal(read.uid, 1000);
	assert_string_equal(read.only[1], "b.example.com");
	assert_null(read.only[2]);
	grant_done(&read);
	other.boot[3] = 'f';
	assert_int_equal(grant_load(*state, &other, &read), -ENOENT);
	other = mine;
	other.cgroup_id = 1;
	assert_int_equal(grant_load(*state, &other, &read), -ENOENT);
	grant_forget(*state, &mine);
	assert_int_equal(grant_load(*state, &mine, &read), -ENOENT);
}

/* For good, and over. None of them is without end but the first. */
static void test_grant_ends(void **state)
{
	struct grant good = {.given = true}, over = {.given = true, .until_ms = 1}, none = {0};
	struct grant read = {0};

	assert_int_equal(grant_save(*state, &mine, &good), 0);
	assert_int_equal(grant_load(*state, &mine, &read), 0);
	assert_true(grant_left_ms(&read) == UINT64_MAX);
	assert_null(read.only);
	grant_done(&read);
	assert_int_equal(grant_left_ms(&over), 0);
	assert_int_equal(grant_left_ms(&none), 0);
	assert_int_equal(grant_save(*state, &mine, &over), 0);
	assert_int_equal(grant_load(*state, &mine, &read), -ENOENT);
}

static void test_grant_damage(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"{\"boot\": 7}",
		"{\"boot\":\"01234567-89ab-cdef-0123-456789abcdef\",\"serial\":7,\"cgroup\":4711,"
		"\"until-ms\":-1,\"uid\":0}",
		"{\"boot\":\"01234567-89ab-cdef-0123-456789abcdef\",\"serial\":7,\"cgroup\":4711,"
		"\"until-ms\":0,\"uid\":0,\"only\":[7]}",
		"{\"boot\":\"01234567-89ab-cdef-0123-456789abcdef\",\"serial\":7,\"cgroup\":4711,"
		"\"until-ms\":0,\"uid\":0,\"only\":\"a.example.com\"}",
	};
	_cleanup_free_ char *path = file_of(*state, "7.grant");

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		_cleanup_fclose_ FILE *file = fopen(path, "we");
		struct grant read = {0};

		assert_non_null(file);
		fputs(texts[i], file);
		fflush(file);
		assert_int_equal(grant_load(*state, &mine, &read), -EBADMSG);
		assert_false(read.given);
	}
}

/* --- what was uploaded --- */

static __u64 spent_there(const char *directory, const struct kept_of *of)
{
	_cleanup_close_ int fd = kept_spent_open(directory, of);
	struct allowances there;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &there, sizeof(there), 0), sizeof(there));
	return there.of[3].settled;
}

static void spend(const char *directory, __u64 spent)
{
	_cleanup_close_ int fd = kept_spent_open(directory, &mine);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, &spent, sizeof(spent),
				offsetof(struct allowances, of[3].settled)),
			 sizeof(spent));
}

/* It is kept; another's is nothing; and one that is not whole is none. */
static void test_spent(void **state)
{
	struct kept_of others[] = {mine, mine};
	_cleanup_free_ char *path = file_of(*state, "7.spent");

	others[0].boot[3] = 'f';
	others[1].cgroup_id = 1;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		spend(*state, 99);
		assert_int_equal(spent_there(*state, &mine), 99);
		assert_int_equal(spent_there(*state, &others[i]), 0);
		assert_int_equal(spent_there(*state, &mine), 0);
	}
	spend(*state, 99);
	assert_int_equal(truncate(path, 4096), 0);
	assert_int_equal(spent_there(*state, &mine), 0);
	assert_int_equal(kept_spent_open("/nonexistent", &mine), -ENOENT);
}

static bool is_seven(void *data _unused_, __u64 serial)
{
	return serial == 7;
}

/* What is nobody's goes; what is no file of ours stays. */
static void test_sweep(void **state)
{
	static const char *const names[] = {"7",       "7.grant",     "8",
					    "8.grant", "9.grant.new", "7.spent",
					    "8.spent", "9.spent.new", "notes"};
	static const bool stay[] = {true, true, false, false, false, true, false, false, true};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		_cleanup_free_ char *path = file_of(*state, names[i]);

		close(open(path, O_WRONLY | O_CREAT, 0600));
	}
	kept_sweep(*state, is_seven, NULL);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		_cleanup_free_ char *path = file_of(*state, names[i]);

		assert_int_equal(access(path, F_OK) == 0, stay[i]);
	}
}

static void test_boot(void **state _unused_)
{
	char boot[KEPT_BOOT_SIZE];

	assert_int_equal(kept_boot(boot), 0);
	assert_int_equal(strlen(boot), KEPT_BOOT_SIZE - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_names, make_directory, remove_directory),
		cmocka_unit_test_setup_teardown(test_contradictions, make_directory,
						remove_directory),
		cmocka_unit_test_setup_teardown(test_cut, make_directory, remove_directory),
		cmocka_unit_test_setup_teardown(test_others, make_directory, remove_directory),
		cmocka_unit_test_setup_teardown(test_damage, make_directory, remove_directory),
		cmocka_unit_test_setup_teardown(test_full, make_directory, remove_directory),
		cmocka_unit_test(test_unwritable),
		cmocka_unit_test_setup_teardown(test_grant, make_directory, remove_directory),
		cmocka_unit_test_setup_teardown(test_grant_ends, make_directory, remove_directory),
		cmocka_unit_test_setup_teardown(test_grant_damage, make_directory,
						remove_directory),
		cmocka_unit_test_setup_teardown(test_spent, make_directory, remove_directory),
		cmocka_unit_test_setup_teardown(test_sweep, make_directory, remove_directory),
		cmocka_unit_test(test_boot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
