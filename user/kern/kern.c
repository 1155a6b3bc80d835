// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The program set of the host: adopt the pinned one, or load, attach and pin. */
#include "internal.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "audit/names.h"

#define LOCK_FILE KERN_RUN_DIR "/lock"
#define OPEN_LOCK_MS 60000 /* another process may be loading, which takes seconds */

#define KERN_NAME_(name, text) [KERN_MAP_##name] = text,
static const char *const map_names[KERN_MAP_COUNT] = {KERN_MAPS(KERN_NAME_)};
#undef KERN_NAME_
#define KERN_NAME_(name, text) [KERN_PROG_##name] = text,
static const char *const prog_names[KERN_PROG_COUNT] = {KERN_PROGS(KERN_NAME_)};
#undef KERN_NAME_

DEFINE_CLEANUP(struct btf *, btf__free)
DEFINE_CLEANUP(struct kern *, kern_close)

void kern_pin_path(char *buffer, size_t size, const char *directory, const char *name)
{
	snprintf(buffer, size, KERN_PIN_DIR "/%s%s%s", directory, name ? "/" : "",
		 name ? name : "");
}

int kern_pins_remove(const char *path)
{
	_cleanup_closedir_ DIR *dir = opendir(path);
	struct dirent *e;

	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	while ((e = readdir(dir))) {
		char child[PATH_MAX];
		struct stat st;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		snprintf(child, sizeof(child), "%s/%s", path, e->d_name);
		if (lstat(child, &st) == 0 && S_ISDIR(st.st_mode))
			kern_pins_remove(child);
		else if (unlink(child) < 0 && errno != ENOENT)
			return -errno;
	}
	return rmdir(path) < 0 ? -errno : 0;
}

/* --- the lock --- */

static int open_lock(struct error *error)
{
	int fd;

	if (mkdir(KERN_RUN_DIR, 0755) < 0 && errno != EEXIST)
		return error_set(error, errno, "cannot make %s: %s", KERN_RUN_DIR, strerror(errno));
	fd = open(LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return error_set(error, errno, "cannot open %s: %s", LOCK_FILE, strerror(errno));
	return fd;
}

int kern_lock(struct kern *kern, unsigned int deadline_ms, struct error *error)
{
	const struct timespec pause = {.tv_nsec = 5 * 1000 * 1000};

	if (kern->locked)
		return error_set(error, EDEADLK, "internal: the lock is held already");
	for (unsigned int waited = 0; flock(kern->lock_fd, LOCK_EX | LOCK_NB) < 0; waited += 5) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return error_set(error, errno, "cannot lock %s: %s", LOCK_FILE,
					 strerror(errno));
		if (waited >= deadline_ms)
			return error_set(error, ETIMEDOUT,
					 "another bulkhead command holds %s: try again", LOCK_FILE);
		nanosleep(&pause, NULL);
	}
	kern->locked = true;
	return 0;
}

void kern_unlock(struct kern *kern)
{
	flock(kern->lock_fd, LOCK_UN);
	kern->locked = false;
}

/* --- adopting --- */

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* NULL and errno. */
static void *map_memory(int fd, size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

static volatile void *map_variable(int fd)
{
	return map_memory(fd, page_size());
}

static void unmap_variable(volatile void *variable)
{
	if (variable)
		munmap((void *)variable, page_size());
}

static int adopt_objects(struct kern *kern, struct error *error)
{
	char path[PATH_MAX];

	for (int i = 0; i < KERN_MAP_COUNT; i++) {
		kern_pin_path(path, sizeof(path), "maps", map_names[i]);
		kern->maps[i] = bpf_obj_get(path);
		if (kern->maps[i] < 0)
			return error_set(error, errno, "cannot open the pin %s: %s", path,
					 strerror(errno));
	}
	for (int i = 0; i < KERN_PROG_COUNT; i++) {
		kern_pin_path(path, sizeof(path), "progs", prog_names[i]);
		kern->progs[i] = bpf_obj_get(path);
		if (kern->progs[i] < 0)
			return error_set(error, errno, "cannot open the pin %s: %s", path,
					 strerror(errno));
	}
	kern->ask = map_variable(kern->maps[KERN_MAP_ASK]);
	kern->cache = map_variable(kern->maps[KERN_MAP_CACHE]);
	kern->fold_ns = map_variable(kern->maps[KERN_MAP_FOLD_NS]);
	kern->folds = map_memory(kern->maps[KERN_MAP_FOLDS], KERN_FOLDS_SIZE);
	if (!kern->ask || !kern->cache || !kern->fold_ns || !kern->folds)
		return error_set(error, errno, "cannot map the programs' variables: %s",
				 strerror(errno));
	return 0;
}

static int check_digest(struct kern *kern, struct error *error)
{
	struct bh_meta meta;
	__u8 digest[32];
	int r = kern_meta_read(kern, &meta);

	if (r < 0)
		return error_set(error, -r, "cannot read the pinned set's digest: %s",
				 strerror(-r));
	kern_digest(digest);
	if (meta.abi != BH_ABI || memcmp(meta.digest, digest, sizeof(digest)) != 0)
		return error_set(
			error, ESTALE,
			"the programs pinned in %s come from another build and go on enforcing: "
			"use that build, or take them down with its `bulkhead stop --release`",
			KERN_PIN_DIR);
	return 0;
}

int kern_meta_read(struct kern *kern, struct bh_meta *ret)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(kern->maps[KERN_MAP_METAS], &key, ret) < 0 ? -errno : 0;
}

int kern_meta_write(struct kern *kern, const struct bh_meta *meta)
{
	__u32 key = 0;

	return bpf_map_update_elem(kern->maps[KERN_MAP_METAS], &key, meta, BPF_ANY) < 0 ? -errno
											: 0;
}

int kern_pins_count(const char *directory, __u32 *ret)
{
	char path[PATH_MAX];
	_cleanup_closedir_ DIR *dir = NULL;
	struct dirent *e;

	*ret = 0;
	kern_pin_path(path, sizeof(path), directory, NULL);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	for (*ret = 0; (e = readdir(dir));)
		*ret += e->d_name[0] != '.';
	return 0;
}

/* Every link that the set was pinned with must still be there: a set that lost one is not adopted. Those
 * of programs that no row of the table of hooks tells of, too. */
static int check_number(struct kern *kern, struct error *error)
{
	struct bh_meta meta;
	__u32 n = 0;
	int r = kern_meta_read(kern, &meta);

	if (r == 0)
		r = kern_pins_count("links", &n);
	if (r < 0)
		return error_set(error, -r, "cannot count the links in %s: %s", KERN_PIN_DIR,
				 strerror(-r));
	if (n != meta.links)
		return error_set(error, ESTALE,
				 "the set pinned in %s has %u links of %u: take it down with "
				 "`bulkhead stop --release`",
				 KERN_PIN_DIR, n, meta.links);
	return 0;
}

static int check_links(struct kern *kern, struct error *error)
{
	for (unsigned int hook = 1; hook < BH_HOOK_COUNT; hook++) {
		enum kern_hook_state state;
		__u32 id;
		int r = kern_hook_state(kern, hook, &state, &id);

		if (r < 0)
			return error_set(error, -r, "cannot ask for the link of %s: %s",
					 hook_name(hook), strerror(-r));
		if (state == KERN_HOOK_LOST)
			return error_set(
				error, ESTALE,
				"the set pinned in %s has lost its link on %s: take it down with "
				"`bulkhead stop --release`",
				KERN_PIN_DIR, hook_name(hook));
	}
	return check_number(kern, error);
}

int kern_is_there(const char *path, struct error *error)
{
	int code = access(path, F_OK) ? errno : 0;

	if (!code || code == ENOENT)
		return !code;
	return error_set(error, code, "it cannot be seen whether %s is there: %s%s", path,
			 strerror(code), code == EACCES || code == EPERM ? ": run as root" : "");
}

int kern_is_loaded(struct error *error)
{
	return kern_is_there(KERN_PIN_DIR, error);
}

/* Without these nothing tells what is known of files from what was. */
static bool can_keep(void)
{
	static const char *const hooks[] = {"inode_rename", "inode_unlink", "inode_free_security"};
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(hooks) / sizeof(*hooks); i++) {
		kern_pin_path(path, sizeof(path), "links", hooks[i]);
		if (access(path, F_OK) < 0)
			return false;
	}
	return true;
}

void kern_cache_switch(struct kern *kern, bool on)
{
	kern->cache->on = on && can_keep();
}

bool kern_cache_is_on(struct kern *kern)
{
	return kern->cache->on;
}

/* For who suspects it, and for the tests, all of which run without the cache as well. */
static bool is_unwanted(const char *what)
{
	const char *word = getenv(what);

	return word && strcmp(word, "off") == 0;
}

static void set_switches(struct kern *kern, bool loaded_now)
{
	bool no_cache = is_unwanted("BULKHEAD_CACHE"), no_fold = is_unwanted("BULKHEAD_FOLD");

	if (loaded_now || no_cache)
		kern_cache_switch(kern, !no_cache);
	if (loaded_now || no_fold)
		kern_fold_switch(kern, no_fold ? 0 : BH_FOLD_MS);
}

static int open_set(struct kern *kern, struct error *error)
{
	int there = kern_is_loaded(error);
	int r = there;

	if (r == 0)
		r = kern_load(error);
	if (r >= 0)
		r = adopt_objects(kern, error);
	if (r == 0)
		r = check_digest(kern, error);
	if (r == 0)
		r = check_links(kern, error);
	if (r == 0)
		r = kern_rechecks_check(kern, error);
	if (r == 0)
		r = kern_superblocks_fixed(kern, error);
	if (r == 0)
		set_switches(kern, !there);
	return r;
}

int kern_open(struct kern **ret, struct error *error)
{
	_cleanup_(cleanup_kern_close) struct kern *kern = NULL;
	struct kern_probe probe;
	int r;

	kern_probe(&probe);
	r = kern_probe_require(&probe, error);
	if (r < 0)
		return r;
	if (sodium_init() < 0)
		return error_set(error, EIO, "libsodium does not start");
	kern = calloc(1, sizeof(*kern));
	if (!kern)
		return error_set(error, ENOMEM, "out of memory");
	memset(kern->maps, -1, sizeof(kern->maps));
	memset(kern->progs, -1, sizeof(kern->progs));
	kern->lock_fd = open_lock(error);
	if (kern->lock_fd < 0)
		return kern->lock_fd;
	r = kern_lock(kern, OPEN_LOCK_MS, error);
	if (r < 0)
		return r;
	r = open_set(kern, error);
	kern_unlock(kern);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(kern);
	return 0;
}

void kern_close(struct kern *kern)
{
	if (!kern)
		return;
	for (int i = 0; i < KERN_MAP_COUNT; i++)
		if (kern->maps[i] >= 0)
			close(kern->maps[i]);
	for (int i = 0; i < KERN_PROG_COUNT; i++)
		if (kern->progs[i] >= 0)
			close(kern->progs[i]);
	unmap_variable(kern->ask);
	unmap_variable(kern->cache);
	unmap_variable(kern->fold_ns);
	if (kern->folds)
		munmap(kern->folds, KERN_FOLDS_SIZE);
	if (kern->lock_fd >= 0)
		close(kern->lock_fd);
	btf__free(kern->btf);
	free(kern);
}

int kern_unload(struct kern *kern, struct error *error)
{
	struct bh_compartment entry;
	int r;

	for (__u32 id = 1; id < BH_MAX_COMPARTMENTS; id++)
		if (kern_compartment_get(kern, id, &entry) == 0 && entry.state != BH_STATE_RELEASED)
			return error_set(error, EBUSY,
					 "compartment %u is not released: bulkhead detach %u", id,
					 id);
	r = kern_pins_remove(KERN_PIN_DIR);
	if (r < 0)
		return error_set(error, -r, "cannot remove the pins below %s: %s", KERN_PIN_DIR,
				 strerror(-r));
	return 0;
}

/* --- hooks --- */

static bool is_per_cgroup(enum bh_hook hook)
{
	return hook == BH_HOOK_CONNECT4 || hook == BH_HOOK_CONNECT6 || hook == BH_HOOK_SENDMSG4 ||
	       hook == BH_HOOK_SENDMSG6;
}

/* A hook without its link. */
static int state_without(struct kern *kern, enum bh_hook carrier, enum kern_hook_state *ret)
{
	const struct kern_recheck_row *recheck = kern_recheck_of(carrier);
	const char *name = recheck ? recheck->name : hook_name(carrier);
	int r;

	if (!kern->btf)
		kern->btf = btf__load_vmlinux_btf();
	if (!kern->btf)
		return -errno;
	*ret = carrier == BH_HOOK_CGROUP_MOVE || kern_has_hook(kern->btf, name) ? KERN_HOOK_LOST
										: KERN_HOOK_ABSENT;
	if (!recheck || *ret == KERN_HOOK_ABSENT)
		return 0;
	r = kern_recheck_is_needed(kern, recheck->set);
	if (r == 0)
		*ret = KERN_HOOK_IDLE;
	return r < 0 ? r : 0;
}

int kern_hook_state(struct kern *kern, enum bh_hook hook, enum kern_hook_state *ret,
		    __u32 *ret_link_id)
{
	/* Refused in task_alloc, counted apart. */
	enum bh_hook carrier = hook == BH_HOOK_CLONE_INTO_CGROUP ? BH_HOOK_TASK_ALLOC : hook;
	const struct kern_recheck_row *recheck = kern_recheck_of(hook);
	_cleanup_close_ int fd = -1;
	struct bpf_link_info info = {};
	__u32 size = sizeof(info);
	char path[PATH_MAX];

	*ret_link_id = 0;
	if (is_per_cgroup(hook)) {
		*ret = KERN_HOOK_PER_CGROUP;
		return 0;
	}
	if (recheck)
		kern_recheck_path(path, sizeof(path), KERN_RECHECK_LINKS, recheck->set,
				  recheck->name);
	else
		kern_pin_path(path, sizeof(path), "links", hook_name(carrier));
	fd = bpf_obj_get(path);
	if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0) {
		*ret = KERN_HOOK_ATTACHED;
		*ret_link_id = info.id;
		return 0;
	}
	if (fd < 0 && errno != ENOENT)
		return -errno;
	return state_without(kern, carrier, ret);
}
