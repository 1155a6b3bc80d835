// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The one object, compiled in one go: the tools that link kernel objects cannot join two that call
 * the same function of the kernel (libbpf before 1.5).
 */
#include "subject.bpf.c"
#include "verdict.bpf.c"
#include "path.bpf.c"

#include "exec.bpf.c"
#include "file.bpf.c"
#include "socket.bpf.c"
#include "egress.bpf.c"
#include "task.bpf.c"
#include "guard.bpf.c"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
