// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Loads, attaches and pins the set of programs; the re-checks later, when they are needed first. */
#include "internal.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bulkhead.skel.h"

/* The new set stands here until it is whole; one rename puts it in place. */
#define PIN_DIR_NEW KERN_PIN_DIR "-new" /* bpffs refuses names with dots */

DEFINE_CLEANUP(struct btf *, btf__free)

/* --- what this kernel has hooks for --- */

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

bool kern_has_hook(const struct btf *btf, const char *hook)
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

/* The re-checks that a program belongs to, or this. */
#define NO_RECHECK (-ENOENT)

static int recheck_of(const struct bpf_program *prog)
{
	return kern_recheck_of_program(bpf_program__name(prog));
}

/* Loads what this kernel has a hook for. One pass: BTF has more than a hundred thousand types. */
static void choose_programs(const struct btf *btf, struct bpf_object *object, int recheck)
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
	bpf_object__for_each_program(prog, object)
	{
		if (recheck_of(prog) != recheck)
			bpf_program__set_autoload(prog, false);
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

/* --- the set, loaded by several --- */

/* The verifier takes longest, a program at a time: as many at once as there are processors, and not
 * more than pay, since each loader reads the object and the kernel's BTF for itself. */
#define MAX_LOADERS 4

/* Every `of`th program, over the maps of another object. */
struct part {
	struct bulkhead_bpf *skel;
	unsigned int number, of;
	pthread_t thread;
	bool started;
	int r;
};

struct set {
	int recheck;		   /* or NO_RECHECK */
	struct bulkhead_bpf *maps; /* and no program; NULL: of the set that is pinned */
	struct part parts[MAX_LOADERS];
	unsigned int n;
};

static void set_done(struct set *set)
{
	for (unsigned int i = 0; i < set->n; i++)
		bulkhead_bpf__destroy(set->parts[i].skel);
	bulkhead_bpf__destroy(set->maps);
}

static unsigned int count_loaders(void)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	if (processors < 1)
		return 1;
	return processors < MAX_LOADERS ? (unsigned int)processors : MAX_LOADERS;
}

static int load_maps(struct set *set)
{
	struct bpf_program *prog;

	set->maps = bulkhead_bpf__open();
	if (!set->maps)
		return -errno;
	bpf_object__for_each_program(prog, set->maps->obj) bpf_program__set_autoload(prog, false);
	return bulkhead_bpf__load(set->maps);
}

/* Below "maps"; NULL: constants, which are held by the programs, by each object its own. libbpf puts the
 * object's name before those of data sections. */
static const char *map_pin(const struct bpf_map *map)
{
	const char *name = bpf_map__name(map);

	if (strstr(name, ".data.ask"))
		return "data_ask";
	if (strstr(name, ".data.cache"))
		return "data_cache";
	if (strstr(name, ".data.fold"))
		return "data_fold";
	return strchr(name, '.') ? NULL : name;
}

static int share_loaded(const struct set *set, struct bpf_map *map)
{
	struct bpf_map *shared = bpf_object__find_map_by_name(set->maps->obj, bpf_map__name(map));

	return shared ? bpf_map__reuse_fd(map, bpf_map__fd(shared)) : -ENOENT;
}

static int share_pinned(struct bpf_map *map)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];

	if (!map_pin(map))
		return 0;
	kern_pin_path(path, sizeof(path), "maps", map_pin(map));
	fd = bpf_obj_get(path);
	return fd < 0 ? -errno : bpf_map__reuse_fd(map, fd);
}

static int share_maps(const struct set *set, struct part *part)
{
	struct bpf_map *map;
	int r = 0;

	bpf_object__for_each_map(map, part->skel->obj)
	{
		if (r == 0)
			r = set->maps ? share_loaded(set, map) : share_pinned(map);
	}
	return r;
}

static void leave_others(struct part *part)
{
	struct bpf_program *prog;
	unsigned int i = 0;

	bpf_object__for_each_program(prog, part->skel->obj)
	{
		if (bpf_program__autoload(prog) && i++ % part->of != part->number)
			bpf_program__set_autoload(prog, false);
	}
}

static int open_part(const struct set *set, const struct btf *btf, struct part *part)
{
	part->skel = bulkhead_bpf__open();
	if (!part->skel)
		return -errno;
	choose_programs(btf, part->skel->obj, set->recheck);
	leave_others(part);
	return share_maps(set, part);
}

static void *load_part(void *data)
{
	struct part *part = data;

	part->r = bulkhead_bpf__load(part->skel);
	return NULL;
}

/* The first part by this thread; one that cannot be started is loaded by it, too. */
static int load_parts(struct set *set)
{
	int r = 0;

	for (unsigned int i = 1; i < set->n; i++)
		set->parts[i].started =
			!pthread_create(&set->parts[i].thread, NULL, load_part, &set->parts[i]);
	for (unsigned int i = 0; i < set->n; i++) {
		if (!set->parts[i].started)
			load_part(&set->parts[i]);
	}
	for (unsigned int i = 0; i < set->n; i++) {
		if (set->parts[i].started)
			pthread_join(set->parts[i].thread, NULL);
		if (r == 0)
			r = set->parts[i].r;
	}
	return r;
}

static int load_set(struct set *set, unsigned int n, struct error *error)
{
	_cleanup_(cleanup_btf__free) struct btf *btf = NULL;
	int r = 0;

	libbpf_set_print(silent);
	btf = btf__load_vmlinux_btf();
	if (!btf)
		return error_set(error, errno, "cannot read the kernel's BTF: %s", strerror(errno));
	if (set->recheck == NO_RECHECK)
		r = load_maps(set);
	for (; r == 0 && set->n < n; set->n++) {
		set->parts[set->n] = (struct part){.number = set->n, .of = n};
		r = open_part(set, btf, &set->parts[set->n]);
	}
	if (r == 0)
		r = load_parts(set);
	if (r == 0)
		return 0;
	return error_set(error, -r,
			 "the kernel does not load the programs: %s%s; BULKHEAD_LIBBPF=1 shows the "
			 "verifier's reason",
			 strerror(-r),
			 r == -EPERM ? " (a kernel that forbids LSM programs, or lockdown)" : "");
}

/* --- pins --- */

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
		r = map_pin(map) ? pin_fd(bpf_map__fd(map), "maps", map_pin(map)) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

static int attach_part(struct bulkhead_bpf *skel, struct error *error)
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

static int attach_and_pin(struct set *set, struct error *error)
{
	int r = 0;

	for (unsigned int i = 0; r == 0 && i < set->n; i++)
		r = attach_part(set->parts[i].skel, error);
	return r;
}

void kern_digest(__u8 digest[32])
{
	size_t size;
	const void *elf = bulkhead_bpf__elf_bytes(&size);

	crypto_hash_sha256(digest, elf, size);
}

static __u32 count_links(const struct set *set)
{
	struct bpf_program *prog;
	__u32 n = 0;

	for (unsigned int i = 0; i < set->n; i++)
		bpf_object__for_each_program(prog, set->parts[i].skel->obj) n +=
			bpf_program__autoload(prog) && is_attached_once(prog);
	return n;
}

static int write_first_meta(const struct set *set)
{
	struct bh_meta meta = {
		.abi = BH_ABI, .next_generation = 1, .next_sbid = 1, .links = count_links(set)};
	__u32 key = 0;

	kern_digest(meta.digest);
	return bpf_map_update_elem(bpf_map__fd(set->maps->maps.bh_metas), &key, &meta, BPF_ANY) < 0
		       ? -errno
		       : 0;
}

int kern_load(struct error *error)
{
	_cleanup_(set_done) struct set set = {.recheck = NO_RECHECK};
	int r;

	/* Left by a load that died: nothing of it is in use. */
	r = kern_pins_remove(PIN_DIR_NEW);
	if (r == 0)
		r = mkdir(PIN_DIR_NEW, 0700) < 0 ? -errno : 0;
	if (r < 0)
		return error_set(error, -r, "cannot make %s: %s", PIN_DIR_NEW, strerror(-r));
	r = load_set(&set, count_loaders(), error);
	if (r == 0) {
		r = pin_maps(set.maps);
		if (r == 0)
			r = write_first_meta(&set);
		if (r < 0)
			error_set(error, -r, "cannot pin the maps below %s: %s", PIN_DIR_NEW,
				  strerror(-r));
	}
	if (r == 0 && mkdir(PIN_DIR_NEW "/" KERN_RECHECKS, 0700) < 0)
		r = error_set(error, errno, "cannot make a directory below %s: %s", PIN_DIR_NEW,
			      strerror(errno));
	if (r == 0)
		r = attach_and_pin(&set, error);
	if (r == 0 && rename(PIN_DIR_NEW, KERN_PIN_DIR) < 0)
		r = error_set(error, errno, "cannot rename %s: %s", PIN_DIR_NEW, strerror(errno));
	if (r < 0)
		kern_pins_remove(PIN_DIR_NEW);
	return r;
}

/* --- re-checks --- */

/* They stand here until they are whole, as the set itself. */
#define RECHECKS_NEW KERN_RECHECKS "-new"

static int pin_rechecks(struct bpf_object *object, enum kern_recheck recheck)
{
	struct bpf_program *prog;
	char path[PATH_MAX];
	int r = 0;

	bpf_object__for_each_program(prog, object)
	{
		if (!bpf_program__autoload(prog))
			continue;
		kern_recheck_path(path, sizeof(path), RECHECKS_NEW, recheck, link_name(prog));
		if (r == 0 && bpf_obj_pin(bpf_program__fd(prog), path) < 0)
			r = -errno;
	}
	return r;
}

static int put_rechecks(const struct set *set, const char *path, struct error *error)
{
	const enum kern_recheck recheck = (enum kern_recheck)set->recheck;
	char top[PATH_MAX], new[PATH_MAX];
	int r;

	kern_pin_path(top, sizeof(top), RECHECKS_NEW, NULL);
	kern_recheck_path(new, sizeof(new), RECHECKS_NEW, recheck, NULL);
	/* Left by a load that died. */
	r = kern_pins_remove(top);
	if (r == 0)
		r = mkdir(top, 0700) < 0 || mkdir(new, 0700) < 0 ? -errno : 0;
	if (r == 0)
		r = pin_rechecks(set->parts[0].skel->obj, recheck);
	if (r == 0)
		r = rename(new, path) < 0 ? -errno : 0;
	kern_pins_remove(top);
	return r < 0 ? error_set(error, -r, "cannot pin the re-checks in %s: %s", path,
				 strerror(-r))
		     : 0;
}

int kern_rechecks_load(struct kern *kern _unused_, enum kern_recheck recheck, struct error *error)
{
	_cleanup_(set_done) struct set set = {.recheck = (int)recheck};
	char path[PATH_MAX];
	int r;

	kern_recheck_path(path, sizeof(path), KERN_RECHECKS, recheck, NULL);
	if (access(path, F_OK) == 0)
		return 0;
	if (errno != ENOENT)
		return error_set(error, errno, "cannot see %s: %s", path, strerror(errno));
	/* They are few: a second loader would read more than it loads. */
	r = load_set(&set, 1, error);
	return r < 0 ? r : put_rechecks(&set, path, error);
}
