// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Loads, attaches and pins the set of programs. */
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

/* Attached while something needs it (recheck.c). */
static bool is_recheck(const struct bpf_program *prog)
{
	return kern_recheck_of_program(bpf_program__name(prog)) >= 0;
}

/* Attached here for good? Iterators and cgroup programs are attached per use. */
static bool is_attached_once(const struct bpf_program *prog)
{
	if (is_recheck(prog))
		return false;
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
	struct bulkhead_bpf *maps; /* and no program */
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

static int share_maps(const struct set *set, struct part *part)
{
	struct bpf_map *map, *shared;
	int r = 0;

	bpf_object__for_each_map(map, part->skel->obj)
	{
		shared = bpf_object__find_map_by_name(set->maps->obj, bpf_map__name(map));
		if (r == 0)
			r = shared ? bpf_map__reuse_fd(map, bpf_map__fd(shared)) : -ENOENT;
	}
	return r;
}

static void leave_others(struct part *part)
{
	struct bpf_program *prog;
	unsigned int i = 0;

	bpf_object__for_each_program(prog, part->skel->obj)
	{
		if (i++ % part->of != part->number)
			bpf_program__set_autoload(prog, false);
	}
}

static int open_part(const struct set *set, const struct btf *btf, struct part *part)
{
	part->skel = bulkhead_bpf__open();
	if (!part->skel)
		return -errno;
	choose_programs(btf, part->skel->obj);
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

static int load_set(struct set *set, struct error *error)
{
	_cleanup_(cleanup_btf__free) struct btf *btf = NULL;
	unsigned int n = count_loaders();
	int r;

	libbpf_set_print(silent);
	btf = btf__load_vmlinux_btf();
	if (!btf)
		return error_set(error, errno, "cannot read the kernel's BTF: %s", strerror(errno));
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
		const char *name = bpf_map__name(map);

		/* libbpf puts the object's name before those of data sections. */
		if (strstr(name, ".data.ask"))
			name = "data_ask";
		else if (strstr(name, ".data.cache"))
			name = "data_cache";
		else if (strchr(name, '.'))
			continue; /* constants: held by the programs */
		r = pin_fd(bpf_map__fd(map), "maps", name);
		if (r < 0)
			return r;
	}
	return 0;
}

static int pin_recheck(const struct bpf_program *prog)
{
	char directory[64];

	if (mkdir(PIN_DIR_NEW "/" KERN_RECHECKS, 0700) < 0 && errno != EEXIST)
		return -errno;
	snprintf(directory, sizeof(directory), "%s/%s", KERN_RECHECKS,
		 kern_recheck_directory(
			 (enum kern_recheck)kern_recheck_of_program(bpf_program__name(prog))));
	return pin_fd(bpf_program__fd(prog), directory, link_name(prog));
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
			r = is_recheck(prog) ? pin_recheck(prog)
					     : pin_fd(bpf_program__fd(prog), "progs",
						      bpf_program__name(prog));
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
	_cleanup_(set_done) struct set set = {};
	int r;

	/* Left by a load that died: nothing of it is in use. */
	r = kern_pins_remove(PIN_DIR_NEW);
	if (r == 0)
		r = mkdir(PIN_DIR_NEW, 0700) < 0 ? -errno : 0;
	if (r < 0)
		return error_set(error, -r, "cannot make %s: %s", PIN_DIR_NEW, strerror(-r));
	r = load_set(&set, error);
	if (r == 0) {
		r = pin_maps(set.maps);
		if (r == 0)
			r = write_first_meta(&set);
		if (r < 0)
			error_set(error, -r, "cannot pin the maps below %s: %s", PIN_DIR_NEW,
				  strerror(-r));
	}
	if (r == 0)
		r = attach_and_pin(&set, error);
	if (r == 0 && rename(PIN_DIR_NEW, KERN_PIN_DIR) < 0)
		r = error_set(error, errno, "cannot rename %s: %s", PIN_DIR_NEW, strerror(errno));
	if (r < 0)
		kern_pins_remove(PIN_DIR_NEW);
	return r;
}
