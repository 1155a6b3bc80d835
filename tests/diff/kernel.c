// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "base/cleanup.h"
#include "core.skel.h"
#include "dentries.h"
#include "kern/internal.h"

#define MAPPED 4

struct kernel {
	struct core_bpf *core;
	struct kern kern; /* with those maps that generations need */
	struct core_case *cases;
	struct dentries dentries;
	struct mapped {
		void *at;
		size_t size;
	} mapped[MAPPED];
};

DEFINE_CLEANUP(struct kernel *, kernel_close)

void kernel_close(struct kernel *kernel)
{
	size_t i;

	if (!kernel)
		return;
	for (i = 0; i < MAPPED; i++) {
		if (kernel->mapped[i].at)
			munmap(kernel->mapped[i].at, kernel->mapped[i].size);
	}
	core_bpf__destroy(kernel->core);
	free(kernel);
}

/* The superblocks that questions are about, as the agent would have learnt them, and the first number
 * of a generation: its place is among the last, so that places are taken from the first on soon. */
static int fill_maps(struct kernel *kernel)
{
	const struct bh_meta meta = {.abi = BH_ABI, .next_generation = BH_MAX_GENERATIONS - 8};
	__u32 sbid;

	_Static_assert(WORLD_SUPERBLOCKS < CORE_SUPERBLOCKS, "0 is none");
	for (sbid = 1; sbid <= WORLD_SUPERBLOCKS; sbid++) {
		const struct bh_superblock sb = {.sbid = sbid, .class = BH_SB_PLAIN};
		__u64 address = dentries_superblock(&kernel->dentries, sbid);

		if (bpf_map_update_elem(kernel->kern.maps[KERN_MAP_SUPERBLOCKS], &address, &sb,
					BPF_ANY) < 0)
			return -errno;
	}
	return kern_meta_write(&kernel->kern, &meta);
}

static int map_one(struct mapped *mapped, const struct bpf_map *map)
{
	size_t size = (size_t)bpf_map__value_size(map) * bpf_map__max_entries(map);
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	if (at == MAP_FAILED)
		return -errno;
	*mapped = (struct mapped){at, size};
	return 0;
}

static int map_all(struct kernel *kernel)
{
	const struct bpf_map *maps[MAPPED] = {kernel->core->maps.core_cases,
					      kernel->core->maps.core_dentries,
					      kernel->core->maps.core_superblocks,
					      kernel->core->maps.core_inodes};
	size_t i;
	int r;

	for (i = 0; i < MAPPED; i++) {
		r = map_one(&kernel->mapped[i], maps[i]);
		if (r < 0)
			return r;
	}
	kernel->cases = kernel->mapped[0].at;
	kernel->dentries.items = kernel->mapped[1].at;
	kernel->dentries.superblocks = kernel->mapped[2].at;
	return 0;
}

static int run_program(const struct bpf_program *program, void *context, __u32 size)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = context, .ctx_size_in = size);

	return bpf_prog_test_run_opts(bpf_program__fd(program), &opts) < 0 ? -errno : 0;
}

static int learn_layout(struct kernel *kernel)
{
	struct core_layout *layout = &kernel->dentries.layout;
	int r = run_program(kernel->core->progs.core_tell, layout, sizeof(*layout));

	if (r < 0)
		return r;
	/* A kernel built for debugging may have them larger. */
	if (layout->parent > CORE_DENTRY_SIZE - 8 || layout->name > CORE_DENTRY_SIZE - 8 ||
	    layout->sb > CORE_DENTRY_SIZE - 8 || layout->seq > CORE_DENTRY_SIZE - 8 ||
	    layout->inode > CORE_DENTRY_SIZE - 8 || layout->hash > CORE_DENTRY_SIZE - 8 ||
	    layout->root > CORE_SUPERBLOCK_SIZE - 8 || layout->links > CORE_INODE_SIZE - 8 ||
	    layout->mode > CORE_INODE_SIZE - 8)
		return -EFBIG;
	dentries_inodes(&kernel->dentries, kernel->mapped[3].at);
	return 0;
}

static void name_maps(struct kernel *kernel)
{
	int *maps = kernel->kern.maps;

	maps[KERN_MAP_POLICIES] = bpf_map__fd(kernel->core->maps.bh_policies);
	maps[KERN_MAP_TABLES] = bpf_map__fd(kernel->core->maps.bh_tables);
	maps[KERN_MAP_STARTS] = bpf_map__fd(kernel->core->maps.bh_starts);
	maps[KERN_MAP_METAS] = bpf_map__fd(kernel->core->maps.bh_metas);
	maps[KERN_MAP_MADE] = bpf_map__fd(kernel->core->maps.bh_made);
	maps[KERN_MAP_PINS] = bpf_map__fd(kernel->core->maps.bh_pins);
	maps[KERN_MAP_PIN_RULES] = bpf_map__fd(kernel->core->maps.bh_pin_rules);
	maps[KERN_MAP_SUPERBLOCKS] = bpf_map__fd(kernel->core->maps.bh_superblocks);
}

int kernel_open(struct kernel **ret)
{
	_cleanup_(cleanup_kernel_close) struct kernel *kernel = calloc(1, sizeof(*kernel));
	int r;

	if (!kernel)
		return -ENOMEM;
	kernel->core = core_bpf__open();
	if (!kernel->core)
		return -errno;
	r = core_bpf__load(kernel->core);
	if (r < 0)
		return r;
	name_maps(kernel);
	r = map_all(kernel);
	if (r == 0)
		r = learn_layout(kernel);
	if (r == 0)
		r = fill_maps(kernel);
	if (r == 0)
		*ret = TAKE_PTR(kernel);
	return r;
}

int kernel_install(struct kernel *kernel, const struct automaton *automaton, __u32 *ret_generation,
		   struct error *error)
{
	return kern_policy_write(&kernel->kern, automaton, ret_generation, error);
}

int kernel_remove(struct kernel *kernel, __u32 generation)
{
	return kern_policy_clear(&kernel->kern, generation);
}

/* False: no room for its dentries beside those of the others. */
static bool ask(struct kernel *kernel, size_t i, const struct question *question)
{
	struct core_case *c = &kernel->cases[i];
	/* The root has no component in the kernel's walk. */
	size_t n = strcmp(question->path.bytes, "/") ? question->path.n : 0;
	__u64 address =
		kernel->dentries.layout.cases + i * sizeof(*c) + offsetof(struct core_case, path);

	c->dentry = 0;
	c->asked = question->asked;
	c->pos = (__u32)(CORE_PATH_END - n);
	c->done = 0;
	memcpy(c->path + c->pos, question->path.bytes, n);
	return !question->sbid ||
	       dentries_add(&kernel->dentries, question->sbid, question->path.bytes,
			    address + c->pos, question->inode, &c->dentry);
}

static void hear(const struct core_case *c, struct answer *ret)
{
	*ret = (struct answer){
		.unknown = c->reason == BH_REASON_UNSURE_SB,
		.undecided = c->reason == BH_REASON_UNSURE_SB ? 0 : c->reason,
		.tripped = c->bits & BH_EVENT_TRIPWIRE,
		/* A tripwire is touched in audit mode, which lets everything through. */
		.refused = c->error || c->reason || c->bits & BH_EVENT_TRIPWIRE,
		.silent = c->bits & BH_EVENT_QUIET,
		.audited = c->bits & BH_EVENT_AUDIT && !(c->bits & BH_EVENT_TRIPWIRE),
		.masks = c->masks,
		.hidden = c->reason ? 0 : c->hidden,
	};
}

/* As many as there is room for; how many, or -errno. */
static int answer_some(struct kernel *kernel, __u32 generation, const struct question *questions,
		       size_t n, struct answer *ret)
{
	struct core_run run = {.generation = generation};
	size_t i;
	int r;

	dentries_clear(&kernel->dentries);
	while (run.n < n && ask(kernel, run.n, &questions[run.n]))
		run.n++;
	r = run_program(kernel->core->progs.core_run, &run, sizeof(run));
	if (r < 0)
		return r;
	for (i = 0; i < run.n; i++) {
		if (!kernel->cases[i].done)
			return -EIO;
		hear(&kernel->cases[i], &ret[i]);
	}
	return (int)run.n;
}

int kernel_answers(struct kernel *kernel, __u32 generation, const struct question *questions,
		   size_t n, struct answer *ret)
{
	size_t i;
	int r;

	for (i = 0; i < n; i += (size_t)r) {
		r = answer_some(kernel, generation, questions + i, n - i, ret + i);
		if (r <= 0)
			return r < 0 ? r : -E2BIG;
	}
	return 0;
}
