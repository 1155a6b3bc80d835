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
#include "bulkhead.skel.h"

/* The new set stands here until it is whole; one rename puts it in place. */
#define PIN_DIR_NEW KERN_PIN_DIR "-new" /* bpffs refuses names with dots */
#define LOCK_FILE KERN_RUN_DIR "/lock"
#define OPEN_LOCK_MS 60000 /* another process may be loading, which takes seconds */

#define KERN_NAME_(name, text) [KERN_MAP_##name] = text,
static const char *const map_names[KERN_MAP_COUNT] = {KERN_MAPS(KERN_NAME_)};
#undef KERN_NAME_
#define KERN_NAME_(name, text) [KERN_PROG_##name] = text,
static const char *const prog_names[KERN_PROG_COUNT] = {KERN_PROGS(KERN_NAME_)};
#undef KERN_NAME_

DEFINE_CLEANUP(struct bulkhead_bpf *, bulkhead_bpf__destroy)
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

/* --- loading --- */

static const char *lsm_hook_of(const struct bpf_program *prog)
{
	const char *section = bpf_program__section_name(prog);

	return strncmp(section, "lsm/", 4) == 0 ? section + 4 : NULL;
}

/* Programs for one form of a hook whose arguments changed, with how many it has then. */
static const struct shape {
	const char *program;
	__u16 arguments;
} shapes[] = {{"bh_setattr", 3}, {"bh_setattr_two", 2}};

static const struct shape *shape_of(const struct bpf_program *prog)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		if (strcmp(bpf_program__name(prog), shapes[i].program) == 0)
			return &shapes[i];
	return NULL;
}

#define HOOK_PREFIX "bpf_lsm_"

static bool kernel_has_hook(const struct btf *btf, const char *hook)
{
	char name[128];

	snprintf(name, sizeof(name), HOOK_PREFIX "%s", hook);
	return btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) >= 0;
}

static bool fits(const struct bpf_program *prog, const char *hook, const struct btf_type *proto)
{
	const struct shape *shape = shape_of(prog);

	return lsm_hook_of(prog) && strcmp(lsm_hook_of(prog), hook) == 0 &&
	       (!shape || btf_vlen(proto) == shape->arguments);
}

static void choose_for(struct bpf_object *object, const char *hook, const struct btf_type *proto)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, object)
	{
		if (fits(prog, hook, proto))
			bpf_program__set_autoload(prog, true);
	}
}

/* Loads what this kernel has a hook for. One pass: BTF has more than a hundred thousand types. */
static void choose_programs(const struct btf *btf, struct bpf_object *object)
{
	const size_t prefix = strlen(HOOK_PREFIX);
	struct bpf_program *prog;
	const struct btf_type *t;
	const char *name;

	bpf_object__for_each_program(prog, object)
		bpf_program__set_autoload(prog, !lsm_hook_of(prog));
	for (__u32 id = 1; id < btf__type_cnt(btf); id++) {
		t = btf__type_by_id(btf, id);
		name = btf_is_func(t) ? btf__name_by_offset(btf, t->name_off) : "";
		if (strncmp(name, HOOK_PREFIX, prefix) == 0)
			choose_for(object, name + prefix, btf__type_by_id(btf, t->type));
	}
}

/* Attached here for good? Iterators and cgroup programs are attached per use. */
static bool is_attached_once(const struct bpf_program *prog)
{
	return lsm_hook_of(prog) || strncmp(bpf_program__section_name(prog), "tp_btf/", 7) == 0;
}

/* "file_open" of "lsm/file_open": the name of a link's pin, and the hook table's text. */
static const char *link_name(const struct bpf_program *prog)
{
	return strchr(bpf_program__section_name(prog), '/') + 1;
}

static int silent(enum libbpf_print_level level, const char *format, va_list ap)
{
	if (level == LIBBPF_WARN && getenv("BULKHEAD_LIBBPF"))
		return vfprintf(stderr, format, ap);
	return 0;
}

static int load_set(struct bulkhead_bpf **ret, struct error *error)
{
	_cleanup_(cleanup_bulkhead_bpf__destroy) struct bulkhead_bpf *skel = NULL;
	_cleanup_(cleanup_btf__free) struct btf *btf = NULL;
	int r;

	libbpf_set_print(silent);
	btf = btf__load_vmlinux_btf();
	if (!btf)
		return error_set(error, errno, "cannot read the kernel's BTF: %s", strerror(errno));
	skel = bulkhead_bpf__open();
	if (!skel)
		return error_set(error, errno, "cannot open the built-in programs: %s",
				 strerror(errno));
	choose_programs(btf, skel->obj);
	r = bulkhead_bpf__load(skel);
	if (r < 0)
		return error_set(
			error, -r,
			"the kernel does not load the programs: %s%s; BULKHEAD_LIBBPF=1 shows "
			"the verifier's reason",
			strerror(-r),
			r == -EPERM ? " (a kernel that forbids LSM programs, or lockdown)" : "");
	*ret = TAKE_PTR(skel);
	return 0;
}

static int pin_path(char *buffer, size_t size, const char *directory, const char *name)
{
	snprintf(buffer, size, PIN_DIR_NEW "/%s", directory);
	if (mkdir(buffer, 0700) < 0 && errno != EEXIST)
		return -errno;
	snprintf(buffer, size, PIN_DIR_NEW "/%s/%s", directory, name);
	return 0;
}

static int pin_fd(int fd, const char *directory, const char *name)
{
	char path[PATH_MAX];
	int r = pin_path(path, sizeof(path), directory, name);

	if (r < 0)
		return r;
	return bpf_obj_pin(fd, path) < 0 ? -errno : 0;
}

static int pin_maps(struct bulkhead_bpf *skel)
{
	struct bpf_map *map;
	int r;

	bpf_object__for_each_map(map, skel->obj)
	{
		const char *name = bpf_map__name(map);

		/* libbpf puts the object's name before those of data sections. */
		if (strstr(name, ".data.ask"))
			name = "data_ask";
		else if (strchr(name, '.'))
			continue; /* constants: held by the programs */
		r = pin_fd(bpf_map__fd(map), "maps", name);
		if (r < 0)
			return r;
	}
	return 0;
}

static int attach_and_pin(struct bulkhead_bpf *skel, struct error *error)
{
	struct bpf_program *prog;
	int r;

	bpf_object__for_each_program(prog, skel->obj)
	{
		struct bpf_link *link;

		if (!bpf_program__autoload(prog))
			continue;
		if (!is_attached_once(prog)) {
			r = pin_fd(bpf_program__fd(prog), "progs", bpf_program__name(prog));
			if (r < 0)
				return error_set(error, -r, "cannot pin %s: %s",
						 bpf_program__name(prog), strerror(-r));
			continue;
		}
		link = bpf_program__attach(prog);
		if (!link)
			return error_set(error, errno, "cannot attach %s: %s",
					 bpf_program__section_name(prog), strerror(errno));
		r = pin_fd(bpf_link__fd(link), "links", link_name(prog));
		bpf_link__destroy(link);
		if (r < 0)
			return error_set(error, -r, "cannot pin the link of %s: %s",
					 bpf_program__section_name(prog), strerror(-r));
	}
	return 0;
}

static void own_digest(__u8 digest[32])
{
	size_t size;
	const void *elf = bulkhead_bpf__elf_bytes(&size);

	crypto_hash_sha256(digest, elf, size);
}

static int write_first_meta(struct bulkhead_bpf *skel)
{
	struct bh_meta meta = {.abi = BH_ABI, .next_generation = 1, .next_sbid = 1};
	__u32 key = 0;

	own_digest(meta.digest);
	return bpf_map_update_elem(bpf_map__fd(skel->maps.bh_metas), &key, &meta, BPF_ANY) < 0
		       ? -errno
		       : 0;
}

static int load_and_pin(struct error *error)
{
	_cleanup_(cleanup_bulkhead_bpf__destroy) struct bulkhead_bpf *skel = NULL;
	int r;

	/* Left by a load that died: nothing of it is in use. */
	r = kern_pins_remove(PIN_DIR_NEW);
	if (r == 0)
		r = mkdir(PIN_DIR_NEW, 0700) < 0 ? -errno : 0;
	if (r < 0)
		return error_set(error, -r, "cannot make %s: %s", PIN_DIR_NEW, strerror(-r));
	r = load_set(&skel, error);
	if (r == 0) {
		r = pin_maps(skel);
		if (r == 0)
			r = write_first_meta(skel);
		if (r < 0)
			error_set(error, -r, "cannot pin the maps below %s: %s", PIN_DIR_NEW,
				  strerror(-r));
	}
	if (r == 0)
		r = attach_and_pin(skel, error);
	if (r == 0 && rename(PIN_DIR_NEW, KERN_PIN_DIR) < 0)
		r = error_set(error, errno, "cannot rename %s: %s", PIN_DIR_NEW, strerror(errno));
	if (r < 0)
		kern_pins_remove(PIN_DIR_NEW);
	return r;
}

/* --- adopting --- */

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
	kern->ask = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED,
			 kern->maps[KERN_MAP_ASK], 0);
	if (kern->ask == MAP_FAILED) {
		kern->ask = NULL;
		return error_set(error, errno, "cannot map bh_ask: %s", strerror(errno));
	}
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
	own_digest(digest);
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

/* Every link that the set was pinned with must still be there: a set that lost one is not adopted.
 */
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
	return 0;
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

static int open_set(struct kern *kern, struct error *error)
{
	int r = kern_is_loaded(error);

	if (r == 0)
		r = load_and_pin(error);
	if (r >= 0)
		r = adopt_objects(kern, error);
	if (r == 0)
		r = check_digest(kern, error);
	if (r == 0)
		r = check_links(kern, error);
	if (r == 0)
		r = kern_superblocks_fixed(kern, error);
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
	if (kern->ask)
		munmap((void *)kern->ask, (size_t)sysconf(_SC_PAGESIZE));
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

int kern_hook_state(struct kern *kern, enum bh_hook hook, enum kern_hook_state *ret,
		    __u32 *ret_link_id)
{
	/* Refused in task_alloc, counted apart. */
	enum bh_hook carrier = hook == BH_HOOK_CLONE_INTO_CGROUP ? BH_HOOK_TASK_ALLOC : hook;
	_cleanup_close_ int fd = -1;
	struct bpf_link_info info = {};
	__u32 size = sizeof(info);
	char path[PATH_MAX];

	*ret_link_id = 0;
	if (is_per_cgroup(hook)) {
		*ret = KERN_HOOK_PER_CGROUP;
		return 0;
	}
	kern_pin_path(path, sizeof(path), "links", hook_name(carrier));
	fd = bpf_obj_get(path);
	if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0) {
		*ret = KERN_HOOK_ATTACHED;
		*ret_link_id = info.id;
		return 0;
	}
	if (fd < 0 && errno != ENOENT)
		return -errno;
	if (!kern->btf)
		kern->btf = btf__load_vmlinux_btf();
	if (!kern->btf)
		return -errno;
	*ret = carrier == BH_HOOK_CGROUP_MOVE || kernel_has_hook(kern->btf, hook_name(carrier))
		       ? KERN_HOOK_LOST
		       : KERN_HOOK_ABSENT;
	return 0;
}
