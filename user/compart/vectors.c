// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "vectors.h"

const struct vector open_vectors[] = {
	{"native-code",
	 "make memory executable without jit: true, by personality and brk, or by ptrace of a peer",
	 "what such code does is judged like all else; LockPersonality= in the unit"},
	{"held-descriptors",
	 "go on using what it held at enrolment and the policy kept or reported, and what it "
	 "received or opened before a reload",
	 "listed in the report; existing: revoke takes what is not allowed"},
	{"own-mounts",
	 "as root: reach a file that no rule denies by an allowed name it had bound onto it, in a "
	 "mount namespace of its own, before the attach",
	 "a deny holds by every name; mounts of a user namespace name nothing; it cannot mount "
	 "inside"},
	{"old-hard-links",
	 "reach a file that no rule denies by an older hard link in an allowed place",
	 "what a rule denies stays refused by such links; new ones need the target's rights"},
	{"name-lookups", "learn that a name exists, its size and owner, and where a link points",
	 "contents stay closed: stat, readlink and O_PATH open nothing"},
	{"inotify", "be told of names by watches that it held before the attach",
	 "contents stay closed; new watches ask read"},
	{"interpreters", "run any script that an allowed interpreter may read",
	 "give interpreters read-only trees; bulkhead check lists which there are"},
	{"kept-sockets",
	 "accept on listening TCP sockets that it was left, and bind and listen on unix ones",
	 "connections out of the compartment are judged; existing: revoke"},
	{"ports",
	 "with network: egress or loopback take ports of loopback, and the ones that the kernel "
	 "chooses from, before services of the host do",
	 "start those first; LimitNOFILE= and TasksMax= in the unit"},
	{"keyrings", "use the keyrings of its session, and have the kernel run /sbin/request-key",
	 "start it in a session of its own; request-key.conf"},
	{"source-routes",
	 "send elsewhere by IPv6 routing headers on a connected UDP socket that was kept as stdio",
	 "give it pipes or a stream as stdio"},
	{"service-manager",
	 "as root and Type=notify, name any process as its main one, which its manager then ends",
	 "systemd believes root; NotifyAccess=none, or User="},
	{"message-queues", "make and remove POSIX message queues where file modes let it",
	 "opening them is judged; give it an ipc namespace of its own"},
	{"letter-case", "pass a deny by another spelling where the filesystem does not tell case",
	 "allows match the spelling alone: do not rely on a deny on vfat or casefold directories"},
	{"locks", "hold locks and leases on files it may open, for which others then wait",
	 "leases end after fs.lease-break-time"},
	{"sysv-ipc", "use System V shared memory, semaphores and queues of its user",
	 "object modes; give it a user or ipc namespace of its own"},
	{"traced-by-parent", "ask a parent outside to trace it",
	 "the parent gets power over it, not it over the parent"},
	{"jit-until-exec", "keep writable and executable memory after a reload that takes jit away",
	 "ends at its next exec: restart it"},
	{"moved-out",
	 "look like an outsider for a moment on a preempting 6.1, when moved out by one",
	 "it cannot move itself; Debian's 6.1 preempts only with preempt=full"},
	{"priorities", "change priority, affinity and limits of its user's other processes",
	 "give it a user of its own"},
	{"sysctl", "write the kernel parameters under paths the policy lets it write",
	 "no shipped policy allows /proc/sys for writing"},
	{"late-mounts",
	 "nothing; but what the host mounts later is refused until the view is renewed",
	 "the agent sees to that a second or so after the mount, with a large policy later"},
};

const size_t nopen_vectors = sizeof(open_vectors) / sizeof(open_vectors[0]);

json_t *vectors_record(void)
{
	json_t *array = json_array();

	for (size_t i = 0; i < nopen_vectors; i++) {
		const struct vector *v = &open_vectors[i];

		if (json_array_append_new(array,
					  json_pack("{s:s, s:s, s:s}", "name", v->name, "open",
						    v->open, "instead", v->instead))) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}
