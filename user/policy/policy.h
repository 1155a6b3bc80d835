/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Policy text -> struct policy. Nothing that is not listed is allowed.
 * The only I/O is reading the policy file, its includes and, for rules' literal heads, symlinks
 * owned by root (policy_resolver). No libbpf.
 */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include <stdbool.h>
#include "automaton.h"
#include "destination.h"
#include "limits.h"
#include "listen.h"

enum existing_action { EXISTING_REFUSE, EXISTING_REPORT, EXISTING_REVOKE };
enum existing_kind {
	EXISTING_FILES, /* what has a name: files, directories, devices, terminals */
	EXISTING_SOCKETS,
	EXISTING_MAPPINGS, /* cannot be revoked */
	EXISTING_OTHERS, /* what gives power over the kernel or other processes; pidfds alone can be */
	EXISTING_KINDS,
};
enum existing_keep { KEEP_STDIO = 1 << 0, KEEP_JOURNAL = 1 << 1, KEEP_NOTIFY = 1 << 2 };
/* Of procfs: no process's directory, the own one's, those of all members. */
enum proc_view { PROC_NONE, PROC_SELF, PROC_COMPARTMENT };

/* What members may reach, and what the policy says of it. */
struct policy_destination {
	struct destination to;
	char *discloses;  /* what is sent there: printable ASCII, not empty */
	__u64 max_upload; /* bytes, 1 to INT64_MAX: JSON's readers have no more */
	bool tls;	  /* it begins with a TLS ClientHello that asks for the name */
	struct place place;
};

/* Memory: what is written there is charged to who writes. */
#define POLICY_PRIVATE_ROOT "/run/bulkhead-run"

/* Of a command that is started. */
struct policy_environment {
	char **pass, **set; /* names, some with a * behind; NAME=VALUE. NULL-terminated, or NULL */
	size_t npass, nset;
	char *home, *tmpdir; /* of the variables HOME and TMPDIR; NULL: the policy has none */
	bool private_home, private_tmpdir; /* made for each run, below POLICY_PRIVATE_ROOT */
};

/* A port that members may listen at. */
struct policy_port {
	struct listen_at at;
	struct place place;
};

struct policy {
	char name[BH_NAME_SIZE];
	char *path; /* of the main file */
	enum bh_mode mode;
	enum existing_action existing[EXISTING_KINDS];
	unsigned int keep; /* KEEP_* */
	enum proc_view proc;
	bool hardlinks;	    /* every allow is one for older hard links, too */
	bool nested;	    /* members may make sandboxes of their own */
	__u64 caps;	    /* capability bits that stay: a constant set in this version */
	struct rule *rules; /* files, exec and unix of all files, in order of reading */
	size_t nrules;
	struct policy_environment environment;
	__u64 limits[LIMITS]; /* of a command that is started: enum limit_form */
	bool loopback;	      /* members may listen there, and connect to each other */
	bool proxy;	      /* what is listed may be asked for by CONNECT and SOCKS, too */
	/* In order of the text, at most BH_MAX_DESTINATIONS. No name has a port twice; of a wildcard and an entry that
	 * has the name itself and the port, that one decides. */
	struct policy_destination *egress;
	size_t negress;
	struct policy_port *
		listen; /* in order of the text, at most BH_MAX_LISTEN; none says what another says */
	size_t nlisten;
	char **files; /* every file read, the main one first: place.file is one of these */
	size_t nfiles;
	unsigned char digest[32]; /* of all text read, in order: what `reload` compares */
};

struct policy_options {
	const char *include_dir; /* where include: base/x is looked up, as base/x.yaml */
	const char *const *vars; /* "NAME=value" overrides of the file's vars, NULL-terminated */
	const char *root; /* the directory that "/" means where links are followed; NULL: "/" */
	const char *text; /* what the main file says, which is not read then; NULL: it is */
};

/*
 * Loads, checks everything, runs the file's tests. 0, or -EINVAL (the text), -ENOENT/-EACCES (a
 * file), -ENOMEM; error then says file:line:column: what: what to write instead. *ret on success
 * only.
 */
int policy_load(const char *path, const struct policy_options *options, struct policy **ret,
		struct error *error);
/* The rules of one include ("base/loader") and of what it includes, without a main file: rules and
 * files alone are filled in. */
int policy_load_include(const char *name, const struct policy_options *options, struct policy **ret,
			struct error *error);
void policy_free(struct policy *policy);

/* policy->digest in hexadecimal. */
#define POLICY_DIGEST_SIZE 65
char *policy_digest_text(const struct policy *policy, char buffer[POLICY_DIGEST_SIZE]);

/*
 * The rule that decides `perms` on `path` (as people write it): the first tripwire that matches,
 * else the first deny, else the first allow that covers all, else (several together) the first that covers some; of a refusal
 * that no deny made, the first quiet rule; of what does not run because it may have been written inside,
 * the allow that lacks written-inside: true. NULL when no rule says anything. *ret_allowed is the
 * verdict, the automaton's own.
 */
const struct rule *policy_explain(const struct policy *policy, const char *path, size_t length,
				  __u32 perms, bool *ret_allowed);

/* The first audit rule that would report some of `perms` where they are allowed; NULL. */
const struct rule *policy_watching(const struct policy *policy, const char *path, size_t length,
				   __u32 perms);

/* Each link that is followed, as it is met. */
typedef void (*policy_link_fn)(const char *link, const char *target, void *data);
struct policy_resolve_options {
	const char *root; /* as in policy_options */
	bool keep_last;	  /* what is done is done to the link itself: deleting, another name */
	policy_link_fn on_link;
	void *data;
};

/*
 * `path` (no glob: * is a byte like others) with its root-owned symbolic links followed, as
 * policy_load does to rules (malloc'ed): what to ask policy_explain about. Names that do not exist
 * stay as written. 0, -EINVAL with a reason, or another errno.
 */
int policy_resolve(const struct policy_resolve_options *options, const char *path, char **ret_path,
		   struct error *error);

/* "read", "map-exec", ... <-> BH_PERM_*; 0 for an unknown word. */
__u32 perm_from_text(const char *text);
/* Writes "read,write" into buffer; returns buffer. */
char *perms_to_text(__u32 perms, char *buffer, size_t size);

#endif
