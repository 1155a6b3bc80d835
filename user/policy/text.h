/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One policy file as written: words and lists, nothing understood yet. A member that is NULL was
 * not given. Internal to the policy layer.
 */
#ifndef POLICY_TEXT_H
#define POLICY_TEXT_H

#include "limits.h"
#include "outline.h"

#define TEXT_RIGHTS 13 /* rights in BH_PERMS */

struct text_rule {
	char **allow, **deny, **quiet, **audit, **tripwire, **on;
	unsigned int allow_count, deny_count, quiet_count, audit_count, tripwire_count, on_count;
	char *hardlinks;
};

struct text_exec {
	char **on;
	unsigned int on_count;
	char *jit, *written_inside, *hardlinks;
};

struct text_unix {
	char **connect, **quiet;
	unsigned int connect_count, quiet_count;
};

struct text_existing {
	char *fallback; /* "default" */
	char *files, *sockets, *mappings, *others;
	char **keep;
	unsigned int keep_count;
};

/* {read: /etc/shadow}: a path for each right asked for. */
struct text_probe {
	char *path[TEXT_RIGHTS];
};

struct text_test {
	struct text_probe *refused, *allowed;
};

struct text_destination {
	char *to, *discloses, *max_upload, *tls;
};

struct text_network {
	char *loopback, *proxy;
	struct text_destination *egress;
	char **listen;
	unsigned int egress_count, listen_count;
};

struct text_limits {
	char *values[LIMITS];
};

struct text_environment {
	char *home, *tmpdir;
	char **pass, **set;
	unsigned int pass_count, set_count;
};

struct text {
	char *version, *name, *mode, *proc, *nested, *hardlinks;
	char *closed; /* network: as a word */
	struct text_network *network;
	char **include, **vars;
	struct text_existing *existing;
	struct text_limits *limits;
	struct text_environment *environment;
	struct text_rule *files;
	struct text_exec *exec;
	struct text_unix *unix_sockets;
	struct text_test *tests;
	unsigned int include_count, vars_count, files_count, exec_count, tests_count;
};

/* 0, -EINVAL or -ENOMEM; *ret on success only, and never NULL then. The outline is of the same
 * text. */
int source_text(const char *yaml, size_t length, const struct outline *outline, struct text **ret,
		struct error *error);
void text_free(struct text *text);

#endif
