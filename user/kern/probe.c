// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What this kernel offers, asked without loading anything. */
#include "kern.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <linux/capability.h>

#include "audit/names.h"
#include "base/cleanup.h"

#define BPFFS_MAGIC 0xcafe4a11	/* linux/magic.h */
#define LSM_ID_BPF_ 109		/* linux/lsm.h, since 6.8 */
#define NR_lsm_list_modules 461 /* the same number on every architecture */

static const char *const need_names[KERN_NEED_COUNT] = {
	[KERN_NEED_ROOT] = "privileges",      [KERN_NEED_BTF] = "BTF",
	[KERN_NEED_LSM] = "bpf LSM",	      [KERN_NEED_CGROUP2] = "cgroup v2",
	[KERN_NEED_BPFFS] = "bpf filesystem", [KERN_NEED_JIT] = "BPF JIT",
};

const char *kern_need_name(enum kern_need need)
{
	return need < KERN_NEED_COUNT ? need_names[need] : "unknown";
}

/* First line of a small file without its newline; "" when it cannot be read. */
static void read_line(const char *path, char *buffer, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buffer, size - 1);

	buffer[n > 0 ? n : 0] = '\0';
	buffer[strcspn(buffer, "\n")] = '\0';
}

/* "" when all are there; else what to do about it. */
static void check_capabilities(char *remedy, size_t size)
{
	static const int needed[] = {CAP_SYS_ADMIN, CAP_SYS_RESOURCE, CAP_NET_ADMIN, CAP_PERFMON,
				     CAP_BPF};
	const char *last = NULL;
	char list[128] = "";
	size_t at = 0;
	_cleanup_fclose_ FILE *f = fopen("/proc/self/status", "re");
	unsigned long long effective = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "CapEff: %llx", &effective) == 1)
			break;
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (!(effective >> needed[i] & 1)) {
			if (last && at < sizeof(list))
				at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s",
						       at ? ", " : "", last);
			last = capability_name((unsigned int)needed[i]);
		}
	*remedy = '\0';
	if (last && geteuid())
		snprintf(remedy, size, "run as root");
	else if (last)
		snprintf(remedy, size, "run with %s%s%s, which %s missing", list, at ? " and " : "",
			 last, at ? "are" : "is");
}

static bool list_has(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; (p = strstr(p, word)); p += n)
		if ((p == list || p[-1] == ',') && (p[n] == ',' || p[n] == '\0'))
			return true;
	return false;
}

/* What can be asked has a yes or a no. */
enum finding { FINDING_NO, FINDING_YES, FINDING_UNKNOWN };

/* A look that failed: for want of privilege, or because there is nothing. */
static enum finding failed(int code)
{
	return code == EACCES || code == EPERM ? FINDING_UNKNOWN : FINDING_NO;
}

/* The list in securityfs, or the system call that needs no mount. */
static enum finding lsm_active(char *list, size_t size)
{
	__u64 ids[64];
	__u32 bytes = sizeof(ids);
	long n;

	read_line("/sys/kernel/security/lsm", list, size);
	if (!*list && geteuid() == 0 && access("/sys/kernel/security", F_OK) == 0 &&
	    mount("securityfs", "/sys/kernel/security", "securityfs",
		  MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0)
		read_line("/sys/kernel/security/lsm", list, size);
	if (*list)
		return list_has(list, "bpf") ? FINDING_YES : FINDING_NO;
	n = syscall(NR_lsm_list_modules, ids, &bytes, 0);
	for (long i = 0; i < n; i++)
		if (ids[i] == LSM_ID_BPF_)
			return FINDING_YES;
	/* Before 6.8 only root could have mounted it. */
	return n < 0 && geteuid() ? FINDING_UNKNOWN : FINDING_NO;
}

static void find_cgroup_root(char *buffer, size_t size)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *m;

	buffer[0] = '\0';
	while (mounts && (m = getmntent(mounts)))
		if (strcmp(m->mnt_type, "cgroup2") == 0 && strlen(m->mnt_dir) < size) {
			strcpy(buffer, m->mnt_dir);
			break;
		}
	if (mounts)
		endmntent(mounts);
}

static enum finding is_bpffs(void)
{
	struct statfs fs;

	if (statfs("/sys/fs/bpf", &fs))
		return failed(errno);
	return (__u32)fs.f_type == BPFFS_MAGIC ? FINDING_YES : FINDING_NO;
}

static enum finding has_btf(void)
{
	return access("/sys/kernel/btf/vmlinux", R_OK) ? failed(errno) : FINDING_YES;
}

static enum finding jit_on(void)
{
	char line[16];

	/* Root's alone to read. */
	if (access("/proc/sys/net/core/bpf_jit_enable", R_OK))
		return failed(errno);

	read_line("/proc/sys/net/core/bpf_jit_enable", line, sizeof(line));
	return *line && strcmp(line, "0") ? FINDING_YES : FINDING_NO;
}

static void set_need(struct kern_probe *probe, enum kern_need need, enum finding finding,
		     const char *remedy)
{
	probe->ok[need] = finding == FINDING_YES;
	probe->unknown[need] = finding == FINDING_UNKNOWN;
	if (finding == FINDING_UNKNOWN)
		remedy = "run as root: only root can see it";
	if (finding != FINDING_YES)
		snprintf(probe->remedy[need], sizeof(probe->remedy[need]), "%s", remedy);
}

void kern_probe(struct kern_probe *ret)
{
	char remedy[sizeof(ret->remedy[0])];
	struct utsname uts;

	memset(ret, 0, sizeof(*ret));
	if (uname(&uts) == 0)
		snprintf(ret->release, sizeof(ret->release), "%.64s", uts.release);
	find_cgroup_root(ret->cgroup_root, sizeof(ret->cgroup_root));
	check_capabilities(remedy, sizeof(remedy));
	set_need(ret, KERN_NEED_ROOT, *remedy ? FINDING_NO : FINDING_YES, remedy);
	set_need(ret, KERN_NEED_BTF, has_btf(), "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y");
	set_need(ret, KERN_NEED_LSM, lsm_active(ret->lsm, sizeof(ret->lsm)),
		 "add bpf to the LSM list: boot with lsm=<your list>,bpf on the kernel command "
		 "line");
	set_need(ret, KERN_NEED_CGROUP2, ret->cgroup_root[0] ? FINDING_YES : FINDING_NO,
		 "mount cgroup v2: boot with systemd.unified_cgroup_hierarchy=1");
	set_need(ret, KERN_NEED_BPFFS, is_bpffs(), "mount -t bpf bpf /sys/fs/bpf");
	set_need(ret, KERN_NEED_JIT, jit_on(), "sysctl net.core.bpf_jit_enable=1");
}

int kern_probe_require(const struct kern_probe *probe, struct error *error)
{
	/* That says nothing of the host. */
	if (!probe->ok[KERN_NEED_ROOT])
		return error_set(error, EOPNOTSUPP, "this needs privileges: %s",
				 probe->remedy[KERN_NEED_ROOT]);
	for (int need = 0; need < KERN_NEED_COUNT; need++)
		if (!probe->ok[need])
			return error_set(error, EOPNOTSUPP,
					 "this host cannot enforce: %s is missing: %s",
					 need_names[need], probe->remedy[need]);
	return 0;
}
