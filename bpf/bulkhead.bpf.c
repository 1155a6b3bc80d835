// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The one object, compiled in one go: bpftool cannot link objects that call the same function of the
 * kernel's (Debian 12's, "failed to resolve size of underlying type"). */
#include "subject.bpf.c"
#include "verdict.bpf.c"
#include "cache.bpf.c"
#include "path.bpf.c"
#include "links.bpf.c"

#include "exec.bpf.c"
#include "file.bpf.c"
#include "names.bpf.c"
#include "attributes.bpf.c"
#include "socket.bpf.c"
#include "held.bpf.c"
#include "append.bpf.c"
#include "egress.bpf.c"
#include "flow.bpf.c"
#include "fence.bpf.c"
#include "task.bpf.c"
#include "guard.bpf.c"
#include "mount.bpf.c"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
