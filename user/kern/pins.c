// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Files with several names: those that rules deny by their whole names, and links made inside. */
#include "internal.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* --- all elements of a map --- */

/* Keys are at most this long. */
#define KEY_SIZE sizeof(struct bh_pin_name)

/* Is the element of this key to go? */
typedef bool (*going_fn)(const void *key, const void *value, void *context);

/* Asks of every element. The kernel programs may delete elements meanwhile, so that it begins anew: not
 * more often than there can be elements. */
static void sweep(int map, __u32 max, going_fn is_going, void *context)
{
	__u8 key[KEY_SIZE], next[KEY_SIZE];
	__u64 value[2];
	bool going = false, first = true;

	for (__u32 i = 0; i <= 2 * max; i++) {
		if (bpf_map_get_next_key(map, first ? NULL : key, next) < 0)
			break;
		/* The key before is deleted only after its successor is known. */
		if (going)
			bpf_map_delete_elem(map, key);
		memcpy(key, next, sizeof(key));
		first = false;
		going = bpf_map_lookup_elem(map, key, value) == 0 && is_going(key, value, context);
	}
	if (going)
		bpf_map_delete_elem(map, key);
}

/* --- names --- */

static int new_pin(struct kern *kern, __u32 *ret)
{
	struct bh_meta meta;
	int r = kern_meta_read(kern, &meta);

	if (r < 0)
		return r;
	if (meta.last_pin + 1 >= BH_PIN_SEVERAL)
		return -E2BIG;
	*ret = (__u32)++meta.last_pin;
	return kern_meta_write(kern, &meta);
}

/* The number of a name that has one already, else a new one, that is not written down yet. */
static int number_of(struct kern *kern, const struct bh_pin_name *key, __u32 *ret)
{
	if (bpf_map_lookup_elem(kern->maps[KERN_MAP_PIN_NAMES], key, ret) == 0)
		return 0;
	return errno == ENOENT ? new_pin(kern, ret) : -errno;
}

/* A directory can be on the way to one name, and be denied something of by another rule. */
static int put_rule(struct kern *kern, __u32 generation, __u32 pin, __u32 perms)
{
	const struct bh_pin_rule key = {.generation = generation, .pin = pin};
	__u32 before = 0;

	if (bpf_map_lookup_elem(kern->maps[KERN_MAP_PIN_RULES], &key, &before) == 0)
		perms |= before;
	return bpf_map_update_elem(kern->maps[KERN_MAP_PIN_RULES], &key, &perms, BPF_ANY) < 0
		       ? -errno
		       : 0;
}

int kern_pin_name(struct kern *kern, __u32 generation, const struct bh_inode *directory,
		  const char *name, __u32 perms, __u32 *ret_pin)
{
	struct bh_pin_name key = {.directory = *directory};
	size_t length = strlen(name);
	__u32 pin = 0, mark = 1;
	int r;

	if (length > BH_MAX_NAME)
		return -ENAMETOOLONG;
	memcpy(key.name, name, length);
	r = number_of(kern, &key, &pin);
	/* Who is told of a name finds the rule. */
	if (r == 0)
		r = put_rule(kern, generation, pin, perms);
	if (r < 0)
		return r;
	if (bpf_map_update_elem(kern->maps[KERN_MAP_PIN_NAMES], &key, &pin, BPF_ANY) < 0 ||
	    bpf_map_update_elem(kern->maps[KERN_MAP_PIN_DIRS], directory, &mark, BPF_ANY) < 0)
		return -errno;
	*ret_pin = pin;
	return 0;
}

int kern_pin(struct kern *kern, const struct bh_inode *inode, __u32 pin)
{
	__u32 before;

	if (bpf_map_lookup_elem(kern->maps[KERN_MAP_PINS], inode, &before) == 0 && before != pin)
		pin = BH_PIN_SEVERAL;
	return bpf_map_update_elem(kern->maps[KERN_MAP_PINS], inode, &pin, BPF_ANY) < 0 ? -errno
											: 0;
}

int kern_policy_loosen(struct kern *kern, __u32 generation, enum bh_loose loose)
{
	__u32 index = BH_GENERATION_INDEX(generation);
	struct bh_policy head;

	if (bpf_map_lookup_elem(kern->maps[KERN_MAP_POLICIES], &index, &head) < 0)
		return -errno;
	if (head.generation != generation)
		return -ENOENT;
	head.loose = loose;
	return bpf_map_update_elem(kern->maps[KERN_MAP_POLICIES], &index, &head, BPF_ANY) < 0
		       ? -errno
		       : 0;
}

int kern_policy_loose(struct kern *kern, __u32 generation)
{
	__u32 index = BH_GENERATION_INDEX(generation);
	struct bh_policy head;

	if (bpf_map_lookup_elem(kern->maps[KERN_MAP_POLICIES], &index, &head) < 0)
		return -errno;
	return head.generation == generation ? (int)head.loose : -ENOENT;
}

/* --- and back --- */

struct forgetting {
	__u32 generation;
	bool any;    /* it had rules */
	__u32 *used; /* numbers that other generations speak of, sorted */
	size_t nused;
	struct bh_inode *directories; /* that have names left, sorted */
	size_t ndirectories;
	bool failed;
};

static void forgetting_done(struct forgetting *f)
{
	free(f->used);
	free(f->directories);
}

static int compare_pins(const void *a, const void *b)
{
	__u32 x = *(const __u32 *)a, y = *(const __u32 *)b;

	return (x > y) - (x < y);
}

static int compare_inodes(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct bh_inode));
}

static void *grown(void *items, size_t n, size_t size)
{
	return n & (n - 1) ? items : reallocarray(items, n ? 2 * n : 1, size);
}

static bool take_rule(const void *key, const void *value _unused_, void *context)
{
	const struct bh_pin_rule *rule = key;
	struct forgetting *f = context;
	__u32 *used;

	if (rule->generation == f->generation) {
		f->any = true;
		return true;
	}
	used = grown(f->used, f->nused, sizeof(*used));
	if (!used) {
		f->failed = true;
		return false;
	}
	f->used = used;
	f->used[f->nused++] = rule->pin;
	return false;
}

static bool is_used(const struct forgetting *f, __u32 pin)
{
	return f->nused && bsearch(&pin, f->used, f->nused, sizeof(pin), compare_pins);
}

static bool take_name(const void *key, const void *value, void *context)
{
	struct forgetting *f = context;
	struct bh_inode *directories;

	if (!is_used(f, *(const __u32 *)value))
		return true;
	directories = grown(f->directories, f->ndirectories, sizeof(*directories));
	if (!directories) {
		f->failed = true;
		return false;
	}
	f->directories = directories;
	f->directories[f->ndirectories++] = ((const struct bh_pin_name *)key)->directory;
	return false;
}

static bool take_directory(const void *key, const void *value _unused_, void *context)
{
	const struct forgetting *f = context;

	return !f->ndirectories || !bsearch(key, f->directories, f->ndirectories,
					    sizeof(*f->directories), compare_inodes);
}

/* Of several names, one may be spoken of while any is. */
static bool take_pin(const void *key _unused_, const void *value, void *context)
{
	const struct forgetting *f = context;
	__u32 pin = *(const __u32 *)value;

	return pin == BH_PIN_SEVERAL ? !f->nused : !is_used(f, pin);
}

/* What cannot be forgotten for want of memory is, with the next generation that goes. */
void kern_pins_forget(struct kern *kern, __u32 generation)
{
	_cleanup_(forgetting_done) struct forgetting f = {.generation = generation};

	sweep(kern->maps[KERN_MAP_PIN_RULES], BH_MAX_PIN_RULES, take_rule, &f);
	if (!f.any || f.failed)
		return;
	if (f.nused)
		qsort(f.used, f.nused, sizeof(*f.used), compare_pins);
	sweep(kern->maps[KERN_MAP_PIN_NAMES], BH_MAX_PIN_NAMES, take_name, &f);
	if (f.ndirectories)
		qsort(f.directories, f.ndirectories, sizeof(*f.directories), compare_inodes);
	if (!f.failed)
		sweep(kern->maps[KERN_MAP_PIN_DIRS], BH_MAX_PIN_NAMES, take_directory, &f);
	sweep(kern->maps[KERN_MAP_PINS], BH_MAX_PINS, take_pin, &f);
}

static bool take_made(const void *key _unused_, const void *value, void *context)
{
	return ((const struct bh_made *)value)->serial == *(const __u64 *)context;
}

void kern_made_forget(struct kern *kern, __u64 serial)
{
	sweep(kern->maps[KERN_MAP_MADE], BH_MAX_MADE_ALL, take_made, &serial);
}
