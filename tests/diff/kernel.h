/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's answers: core.bpf.c, run by BPF_PROG_TEST_RUN over generations that user/kern installed. */
#ifndef DIFF_KERNEL_H
#define DIFF_KERNEL_H

#include "answer.h"
#include "core.h"

struct kernel;

/* All return 0 or -errno; -EPERM and the like from kernel_open: it loads no such program for us. */
int kernel_open(struct kernel **ret);
void kernel_close(struct kernel *kernel);
int kernel_install(struct kernel *kernel, const struct automaton *automaton, __u32 *ret_generation,
		   struct error *error);
int kernel_remove(struct kernel *kernel, __u32 generation);
/* At most CORE_BATCH questions at a time. */
int kernel_answers(struct kernel *kernel, __u32 generation, const struct question *questions,
		   size_t n, struct answer *ret);

#endif
