/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a compartment did: uses of files, programs and sockets, out of its events. Names are of a
 * confined program's making: nothing in them is trusted, and what events do not tell is a remark and
 * never a guess.
 */
#ifndef LEARN_RUN_H
#define LEARN_RUN_H

#include "events.h"
#include "policy/hash.h"

/* Programs named in a reason. At the bound: "and others". */
#define USE_MAX_PROGRAMS 3

/* Remarks of a run. At the bound: "and others". */
#define RUN_MAX_REMARKS 1000

/* A name, and all that was asked of it. Strings are the events'. */
struct use {
	const char *path; /* bytes, as people write it; "@name" of an abstract socket */
	uint32_t perms;	  /* BH_PERM_* that no rule gave */
	uint64_t hooks;	  /* 1 << BH_HOOK_* */
	size_t times;
	const char *programs[USE_MAX_PROGRAMS]; /* who; NULL-terminated when there are fewer */
	bool others;				/* and more programs */
	bool loaded;				/* the kernel opened it to run something */
	bool is_link;				/* a symbolic link was made here */
	bool is_linked;				/* a hard link was, of a name not told */
	bool old_link;				/* the policy allows it, but for older hard links */
	uint32_t pid; /* a process of the run whose number stands in the last name, or 0 */
};

/* By number of use: the new name must not have rights that the old one has not. */
struct rename {
	size_t old, new;
};

/* What is told beside rules. Columns: NAME, whether the proposal lacks something by it, heading. */
#define REMARKS(X)                                                                              \
	X(UNMAPPED, true, "On a filesystem that no member's mounts show: no rule can name it")  \
	X(UNDECIDED, true, "Undecided, so that what it needs is not known")                     \
	X(NAMELESS, true, "Without a name that a rule could give")                              \
	X(PROGRAM, true, "Needs jit: true on a program that was gone before its name was read") \
	X(RENAME, true,                                                                         \
	  "Made by a link or rename: the other name is not told, and needs the same rights")    \
	X(DIRECTORY, true, "A directory that was renamed: one D/** has to cover both names")    \
	X(PATTERN, true,                                                                        \
	  "Looks made anew each run; a pattern would allow more than ten times the files used") \
	X(OLD_LINK, false,                                                                      \
	  "An older hard link, which is allowed by its whole name; a rule with \"hardlinks: "   \
	  "allow\" would allow all of a directory's")                                           \
	X(CREDENTIAL, false,                                                                    \
	  "A credential by deny/credentials: the workload used it; decide yourself")            \
	X(DENIED, false, "Denied by a rule of the policy, which stays")                         \
	X(NETWORK, false,                                                                       \
	  "Network: decide yourself what may be reached, under network: egress, loopback and "  \
	  "listen; stays refused")                                                              \
	X(PROC, false,                                                                          \
	  "/proc of another process: no rule opens it, and proc: compartment only a member's")  \
	X(OUTSIDER, false, "Reaches a process outside: no rule allows it")                      \
	X(CLOSED, false, "Closed to every compartment: no key of a policy opens it")

#define REMARK_ENUM_(name, lacking, heading) REMARK_##name,
enum remark_kind { REMARKS(REMARK_ENUM_) REMARK_COUNT };
#undef REMARK_ENUM_

struct remark {
	enum remark_kind kind;
	char *text; /* fit for a line */
	const char *program;
	size_t times;
};

struct run {
	struct use *uses;
	size_t nuses, uses_size;
	struct hash_index by_path;
	struct rename *renames;
	size_t nrenames, renames_size;
	struct remark *remarks;
	size_t nremarks, remarks_size;
	size_t enforced; /* events of what was refused, not only told */
	bool proc_self;	 /* its own /proc/PID was closed to it by proc: none */
};

/* *ret lives no longer than the events. 0 or -ENOMEM; the caller calls run_done in every case. */
int run_fold(const struct chosen *chosen, struct run *ret);
void run_done(struct run *run);

/* The use of this very path, or NULL. */
const struct use *run_use(const struct run *run, const char *path);

/* Adds a remark, or counts one that is there. Of a path: "read,write /path". 0 or -ENOMEM. */
int run_remark(struct run *run, enum remark_kind kind, const char *text, const char *program,
	       size_t times);
int run_remark_use(struct run *run, enum remark_kind kind, const struct use *use, uint32_t perms);
const char *remark_heading(enum remark_kind kind);
bool remark_is_lack(enum remark_kind kind);

#endif
