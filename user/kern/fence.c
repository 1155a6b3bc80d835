// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The relay's fence: the table of addresses as the kernel's tries have it, and the programs that ask them. */
#include "internal.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/bpf.h>

#include "base/cleanup.h"

/* --- rows --- */

static void clear(int map, void *key)
{
	for (__u32 i = 0; i < 2 * BH_MAX_FENCE && bpf_map_get_next_key(map, NULL, key) == 0; i++)
		bpf_map_delete_elem(map, key);
}

/* A row within a wider one that says otherwise is what the longest prefix is for. */
static int put_row(struct kern *kern, const struct address_block *block, __u32 value)
{
	struct bh_fence_key4 four = {.length = block->length};
	struct bh_fence_key6 six = {.length = block->length};
	bool is_four = block->address.family == ADDRESS_V4;
	void *key = is_four ? (void *)&four : (void *)&six;

	memcpy(&four.address, block->address.bytes, sizeof(four.address));
	memcpy(six.address, block->address.bytes, sizeof(six.address));
	if (bpf_map_update_elem(kern->maps[is_four ? KERN_MAP_FENCE4 : KERN_MAP_FENCE6], key,
				&value, BPF_ANY) < 0)
		return errno == ENOSPC || errno == E2BIG ? -ENOSPC : -errno;
	return 0;
}

/* Behind a longer prefix than /96 the address within stands elsewhere: that one the relay alone judges. */
static int put_nat64(struct kern *kern, const struct address_rules *rules)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < rules->nat64_count; i++)
		r = put_row(kern, &rules->nat64[i],
			    rules->nat64[i].length == 96 ? BH_FENCE_NAT64 : BH_FENCE_PUBLIC);
	return r;
}

static int put_resolver(struct kern *kern, const struct kern_resolver *resolver)
{
	static const int protocols[] = {IPPROTO_UDP, IPPROTO_TCP};
	struct bh_resolver key = {.port = resolver->port};
	__u32 value = 1;

	if (resolver->address.family == ADDRESS_V4) {
		key.address[2] = htonl(0xffff);
		memcpy(&key.address[3], resolver->address.bytes, sizeof(key.address[3]));
	} else {
		memcpy(key.address, resolver->address.bytes, sizeof(key.address));
	}
	for (size_t i = 0; i < sizeof(protocols) / sizeof(*protocols); i++) {
		key.protocol = (__u32)protocols[i];
		if (bpf_map_update_elem(kern->maps[KERN_MAP_RESOLVERS], &key, &value, BPF_ANY) < 0)
			return errno == E2BIG ? -ENOSPC : -errno;
	}
	return 0;
}

static void clear_all(struct kern *kern)
{
	struct bh_fence_key4 four;
	struct bh_fence_key6 six;
	struct bh_resolver resolver;

	clear(kern->maps[KERN_MAP_FENCE4], &four);
	clear(kern->maps[KERN_MAP_FENCE6], &six);
	clear(kern->maps[KERN_MAP_RESOLVERS], &resolver);
}

/* What is closed comes first: a row is missed in neither order, but a public one must not stand without those that
 * narrow it. */
int kern_fence_fill(struct kern *kern, const struct address_rules *rules,
		    const struct kern_resolver *resolvers, size_t n)
{
	const struct address_block *blocks;
	size_t count;
	int r = 0;

	clear_all(kern);
	blocks = address_blocks(&count);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = blocks[i].is_public ? 0 : put_row(kern, &blocks[i], BH_FENCE_CLOSED);
	if (r == 0 && rules->synthetic.length)
		r = put_row(kern, &rules->synthetic, BH_FENCE_CLOSED);
	if (r == 0)
		r = put_nat64(kern, rules);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = blocks[i].is_public ? put_row(kern, &blocks[i], BH_FENCE_PUBLIC) : 0;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = put_resolver(kern, &resolvers[i]);
	return r;
}

/* --- programs --- */

static const struct {
	enum kern_prog prog;
	enum bpf_attach_type type;
	const char *name;
} attachments[] = {
	{KERN_PROG_FENCE_CONNECT4, BPF_CGROUP_INET4_CONNECT, "connect4"},
	{KERN_PROG_FENCE_CONNECT6, BPF_CGROUP_INET6_CONNECT, "connect6"},
	{KERN_PROG_FENCE_SENDMSG4, BPF_CGROUP_UDP4_SENDMSG, "sendmsg4"},
	{KERN_PROG_FENCE_SENDMSG6, BPF_CGROUP_UDP6_SENDMSG, "sendmsg6"},
	{KERN_PROG_FENCE_IN, BPF_CGROUP_INET_INGRESS, "in"},
};

#define FENCE_DIR KERN_PIN_DIR "/fence"

int kern_fence_attach(struct kern *kern, const char *cgroup_path, struct error *error)
{
	_cleanup_close_ int fd = open(cgroup_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char dir[128], path[PATH_MAX];
	__u64 id;
	int r = fd < 0 ? -errno : kern_cgroup_id(cgroup_path, &id);

	if (r < 0)
		return error_set(error, -r, "cannot open %s: %s", cgroup_path, strerror(-r));
	snprintf(dir, sizeof(dir), FENCE_DIR "/%llu", (unsigned long long)id);
	if (access(dir, F_OK) < 0)
		kern_fence_detach(kern);
	mkdir(FENCE_DIR, 0700);
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return error_set(error, errno, "cannot make %s: %s", dir, strerror(errno));
	for (size_t i = 0; r == 0 && i < sizeof(attachments) / sizeof(*attachments); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, attachments[i].name);
		r = kern_cgroup_link(kern, attachments[i].prog, fd, attachments[i].type, path);
	}
	if (r == 0)
		return 0;
	kern_fence_detach(kern);
	return error_set(error, -r, "cannot put a fence around %s: %s", cgroup_path, strerror(-r));
}

int kern_fence_detach(struct kern *kern _unused_)
{
	return kern_pins_remove(FENCE_DIR);
}

int kern_fence_refused(struct kern *kern, __u64 *ret)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(kern->maps[KERN_MAP_FENCE_REFUSALS], &zero, ret) < 0 ? -errno
											: 0;
}
