// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The cgroup programs of one compartment's cgroup. */
#include "internal.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/bpf.h>

#include "base/cleanup.h"

static const struct {
	enum kern_prog prog;
	enum bpf_attach_type type;
	const char *name;
	bool is_told; /* whose compartment it is */
} attachments[] = {
	{KERN_PROG_CONNECT4, BPF_CGROUP_INET4_CONNECT, "connect4", true},
	{KERN_PROG_CONNECT6, BPF_CGROUP_INET6_CONNECT, "connect6", true},
	{KERN_PROG_SENDMSG4, BPF_CGROUP_UDP4_SENDMSG, "sendmsg4", true},
	{KERN_PROG_SENDMSG6, BPF_CGROUP_UDP6_SENDMSG, "sendmsg6", true},
	{KERN_PROG_RECVMSG4, BPF_CGROUP_UDP4_RECVMSG, "recvmsg4", false},
	{KERN_PROG_RECVMSG6, BPF_CGROUP_UDP6_RECVMSG, "recvmsg6", false},
	{KERN_PROG_PEERNAME4, BPF_CGROUP_INET4_GETPEERNAME, "getpeername4", false},
	{KERN_PROG_PEERNAME6, BPF_CGROUP_INET6_GETPEERNAME, "getpeername6", false},
	{KERN_PROG_SOCKOPS, BPF_CGROUP_SOCK_OPS, "sockops", true},
	{KERN_PROG_WIRE_OUT, BPF_CGROUP_INET_EGRESS, "wire-out", true},
	{KERN_PROG_WIRE_IN, BPF_CGROUP_INET_INGRESS, "wire-in", true},
};
#define NATTACHMENTS (sizeof(attachments) / sizeof(*attachments))

static void egress_dir(char *buffer, size_t size, __u64 cgroup_id)
{
	snprintf(buffer, size, KERN_PIN_DIR "/egress/%llu", (unsigned long long)cgroup_id);
}

int kern_cgroup_link(struct kern *kern, enum kern_prog prog, int cgroup_fd, int attach_type,
		     const char *path)
{
	_cleanup_close_ int link = -1;

	if (access(path, F_OK) == 0)
		return 0;
	link = bpf_link_create(kern->progs[prog], cgroup_fd, (enum bpf_attach_type)attach_type,
			       NULL);
	return link < 0 || bpf_obj_pin(link, path) < 0 ? -errno : 0;
}

static int attach_one(struct kern *kern, size_t i, int cgroup_fd, __u64 cgroup_id,
		      __u32 compartment, const char *dir)
{
	struct bpf_cgroup_storage_key key = {.cgroup_inode_id = cgroup_id,
					     .attach_type = attachments[i].type};
	char path[PATH_MAX];
	int r;

	snprintf(path, sizeof(path), "%s/%s", dir, attachments[i].name);
	r = kern_cgroup_link(kern, attachments[i].prog, cgroup_fd, attachments[i].type, path);
	if (r < 0 || !attachments[i].is_told)
		return r;
	/* The storage exists from the attachment on. */
	return bpf_map_update_elem(kern->maps[KERN_MAP_EGRESS], &key, &compartment, BPF_EXIST) < 0
		       ? -errno
		       : 0;
}

int kern_egress_attach(struct kern *kern, const char *cgroup_path, __u64 cgroup_id,
		       __u32 compartment, struct error *error)
{
	_cleanup_close_ int fd = open(cgroup_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char dir[128];

	if (fd < 0)
		return error_set(error, errno, "cannot open %s: %s", cgroup_path, strerror(errno));
	mkdir(KERN_PIN_DIR "/egress", 0700);
	egress_dir(dir, sizeof(dir), cgroup_id);
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return error_set(error, errno, "cannot make %s: %s", dir, strerror(errno));
	for (size_t i = 0; i < NATTACHMENTS; i++) {
		int r = attach_one(kern, i, fd, cgroup_id, compartment, dir);

		if (r < 0) {
			kern_egress_detach(kern, cgroup_id);
			return error_set(error, -r, "cannot attach %s to %s: %s",
					 attachments[i].name, cgroup_path, strerror(-r));
		}
	}
	return 0;
}

int kern_egress_detach(struct kern *kern _unused_, __u64 cgroup_id)
{
	char dir[128];

	egress_dir(dir, sizeof(dir), cgroup_id);
	return kern_pins_remove(dir);
}
