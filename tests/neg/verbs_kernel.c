// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The rest of the kernel: bpf, perf, rings, modules, clocks, and what a capability guards. */
#include "verbs_internal.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <sys/time.h>

VERB(bpf)
{
	union bpf_attr attr = {};

	return result_past(syscall(SYS_bpf, BPF_PROG_GET_NEXT_ID, &attr, sizeof(attr)), ENOENT);
}

VERB(bpf_map)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};

	return result_fd(syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)));
}

/* The pinned maps by their path. */
VERB(bpf_get)
{
	union bpf_attr attr = {.pathname = (unsigned long)argv[1]};

	return result_fd(syscall(SYS_bpf, BPF_OBJ_GET, &attr, sizeof(attr)));
}

VERB(perf)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_CPU_CLOCK};

	return result_fd(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
}

VERB(io_uring)
{
	struct io_uring_params params = {};

	return result_fd(syscall(SYS_io_uring_setup, 1, &params));
}

VERB(userfaultfd)
{
	return result_fd(syscall(SYS_userfaultfd, O_CLOEXEC | (argc > 1 ? number(argv[1]) : 0)));
}

VERB(sethostname)
{
	char name[65];

	if (gethostname(name, sizeof(name)) < 0)
		return broken();
	return result(sethostname(name, strlen(name)));
}

VERB(settime)
{
	struct timeval now;

	if (gettimeofday(&now, NULL) < 0)
		return broken();
	return result(settimeofday(&now, NULL));
}

VERB(kexec)
{
	return result(syscall(SYS_kexec_load, 0, 0, NULL, 0));
}

VERB(kexec_file)
{
	return result_past(syscall(SYS_kexec_file_load, -1, -1, 0, NULL, 0), EBADF);
}

VERB(init_module)
{
	return result_past(syscall(SYS_init_module, "", 0, ""), ENOEXEC);
}

VERB(finit_module)
{
	return result_past(syscall(SYS_finit_module, -1, "", 0), EBADF);
}

VERB(delete_module)
{
	return result_past(syscall(SYS_delete_module, "no_such_module", 0), ENOENT);
}

VERB(swapon)
{
	return result_past(syscall(SYS_swapon, argv[1], 0), EINVAL);
}

VERB(acct)
{
	return result(syscall(SYS_acct, NULL));
}

VERB(reboot)
{
	return result(reboot(RB_DISABLE_CAD));
}

VERB(syslog)
{
	return result(syscall(SYS_syslog, 8, NULL, 7)); /* console log level */
}

VERB(iopl)
{
	return result(syscall(SYS_iopl, 3));
}

VERB(nice)
{
	struct sched_param param = {.sched_priority = 1};

	return result(sched_setscheduler(0, SCHED_FIFO, &param));
}

const struct verb kernel_verbs[] = {
	{"bpf", 0, verb_bpf, ""},
	{"bpf-map", 0, verb_bpf_map, ""},
	{"bpf-get", 1, verb_bpf_get, "PIN"},
	{"perf", 0, verb_perf, ""},
	{"io-uring", 0, verb_io_uring, ""},
	{"userfaultfd", 0, verb_userfaultfd, "[FLAGS]"},
	{"sethostname", 0, verb_sethostname, ""},
	{"settime", 0, verb_settime, ""},
	{"kexec", 0, verb_kexec, ""},
	{"kexec-file", 0, verb_kexec_file, ""},
	{"init-module", 0, verb_init_module, ""},
	{"finit-module", 0, verb_finit_module, ""},
	{"delete-module", 0, verb_delete_module, ""},
	{"swapon", 1, verb_swapon, "FILE"},
	{"acct", 0, verb_acct, ""},
	{"reboot", 0, verb_reboot, ""},
	{"syslog", 0, verb_syslog, ""},
	{"iopl", 0, verb_iopl, ""},
	{"realtime", 0, verb_nice, ""},
	{},
};
