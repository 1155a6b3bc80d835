// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "vectors.h"

const struct vector open_vectors[] = {
	{"attributes", "set times, extended attributes and ACLs of files it may not write",
	 "file ownership and modes"},
	{"ioctl", "any ioctl on a file it has open", "it can open only what the policy allows"},
	{"received-descriptors", "use a descriptor that another process passed to it",
	 "it can connect only to the unix sockets the policy allows"},
	{"held-descriptors", "go on using what it held at enrolment and the policy kept",
	 "judged once, at enrolment; listed in the report"},
	{"old-hard-links", "reach a file by an older hard link in an allowed place",
	 "new links need the target's rights"},
	{"name-lookups", "learn that a name exists, its size and owner, and where a link points",
	 "contents stay closed: stat, readlink and O_PATH open nothing"},
	{"inotify", "watch names for changes where file modes let it", "contents stay closed"},
	{"interpreters", "run any script that an allowed interpreter may read",
	 "give interpreters read-only trees"},
	{"kept-sockets", "bind, listen and accept on sockets it may create or was left",
	 "connections out of the compartment are judged"},
	{"keyrings", "use the keyrings of its session", "start it in a session of its own"},
	{"sysv-ipc", "use System V shared memory, semaphores and queues of its user",
	 "object modes; give it a user or ipc namespace of its own"},
	{"priorities", "change priority, affinity and limits of its user's other processes",
	 "give it a user of its own"},
	{"sysctl", "write the kernel parameters under paths the policy lets it write",
	 "no shipped policy allows /proc/sys for writing"},
	{"late-mounts",
	 "nothing; but what the host mounts later is refused until the view is renewed",
	 "renewed at the first such refusal, at most once a second"},
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
