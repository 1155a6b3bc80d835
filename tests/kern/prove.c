// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The canary: proves every hook, leaves nothing, and says so when one does not refuse. */
#include "harness.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <dirent.h>
#include "compart/compart.h"

static int count_entries(const char *path, const char *prefix)
{
	_cleanup_closedir_ DIR *dir = opendir(path);
	struct dirent *e;
	int n = 0;

	while (dir && (e = readdir(dir)))
		n += !strncmp(e->d_name, prefix, strlen(prefix));
	return n;
}

static int free_ids(struct kern *kern)
{
	struct bh_compartment entry;
	int n = 0;
	__u32 id;

	for (id = 1; id < BH_MAX_COMPARTMENTS; id++)
		n += kern_compartment_get(kern, id, &entry) == -ENOENT;
	return n;
}

static int case_canary(struct kern *kern)
{
	struct canary_result results[BH_HOOK_COUNT];
	struct timespec from, to;
	struct error error = {};
	int before = free_ids(kern), r;
	__u32 ask = kern_ask_read(kern);
	unsigned int hook;
	char *cgroup;

	clock_gettime(CLOCK_MONOTONIC, &from);
	r = canary_run(kern, results, &error);
	clock_gettime(CLOCK_MONOTONIC, &to);
	for (hook = 1; r < 0 && hook < BH_HOOK_COUNT; hook++)
		if (results[hook].note[0])
			printf("# canary: %s: %s\n", hook_name(hook), results[hook].note);
	CHECK(r == 0, "%.200s", error.text);
	printf("# canary: %lld ms\n",
	       (to.tv_sec - from.tv_sec) * 1000LL + (to.tv_nsec - from.tv_nsec) / 1000000);
	for (hook = 1; hook < BH_HOOK_COUNT; hook++)
		CHECK(results[hook].tried || results[hook].note[0],
		      "%s was left out without a word", hook_name(hook));
	CHECK(count_entries(KERN_RUN_DIR, "canary.") == 0, "left its scratch directory");
	CHECK(cgroup_own_create("test-probe", &cgroup, &error) == 0, "no cgroup");
	cgroup_remove(cgroup);
	*strrchr(cgroup, '/') = 0;
	r = count_entries(cgroup, "canary-");
	free(cgroup);
	CHECK(r == 0, "left its cgroup");
	CHECK(free_ids(kern) == before, "left its compartment");
	CHECK(kern_ask_read(kern) == ask, "left ask at %u", kern_ask_read(kern));
	return 0;
}

/* Inside another compartment's proof: with the lock held, as attach does it. */
static int case_canary_locked(struct kern *kern)
{
	struct canary_result results[BH_HOOK_COUNT];
	struct error error = {};
	int r;

	CHECK(kern_lock(kern, 1000, &error) == 0, "no lock");
	r = canary_run(kern, results, &error);
	kern_unlock(kern);
	CHECK(r == 0, "%.200s", error.text);
	return 0;
}

/* A set that lost a link is not adopted, be it of a hook that only remembers. */
static int case_lost_link(struct kern *kern _unused_)
{
	static const char *const links[] = {"file_open", "sb_alloc_security"};
	struct error error = {};
	struct kern *other;
	char pin[128];
	size_t i;
	int r;

	for (i = 0; i < 2; i++) {
		snprintf(pin, sizeof(pin), KERN_PIN_DIR "/links/%s", links[i]);
		CHECK(rename(pin, KERN_PIN_DIR "/taken") == 0, "%s: %s", pin, strerror(errno));
		r = kern_open(&other, &error);
		CHECK(rename(KERN_PIN_DIR "/taken", pin) == 0, "cannot give it back");
		CHECK(r == -ESTALE, "without %s: %s", links[i], strerror(-r));
	}
	r = kern_open(&other, &error);
	CHECK(r == 0, "with all of them: %.200s", error.text);
	kern_close(other);
	return 0;
}

const struct test_case prove_cases[] = {
	{"prove/lost-link", case_lost_link, CASE_ALLOWS},
	{"prove/canary", case_canary, CASE_REFUSES},
	{"prove/canary-locked", case_canary_locked, CASE_REFUSES},
	{},
};
