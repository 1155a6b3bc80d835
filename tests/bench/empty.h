/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The floor: what a program costs that does nothing. */
#ifndef BENCH_EMPTY_H
#define BENCH_EMPTY_H

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <linux/bpf.h>

#include "base/cleanup.h"

/* r0 = 0; exit, attached to a hook. The link lives as long as the descriptor. */
static int attach_empty(const char *hook)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_LSM_MAC);
	struct btf *btf = btf__load_vmlinux_btf();
	int id = btf ? btf__find_by_name_kind(btf, hook, BTF_KIND_FUNC) : -1;
	_cleanup_close_ int prog = -1;

	btf__free(btf);
	if (id < 0)
		return -ENOENT;
	opts.attach_btf_id = (__u32)id;
	prog = bpf_prog_load(BPF_PROG_TYPE_LSM, "empty", "GPL", insns, 2, &opts);
	return prog < 0 ? -errno : bpf_raw_tracepoint_open(NULL, prog);
}

#endif
