/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The lines that `bulkhead events --json` prints, read back: those of one compartment, and what was
 * lost of them. Every line is checked before any is used.
 */
#ifndef LEARN_EVENTS_H
#define LEARN_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <bulkhead/abi.h>
#include "base/log.h"

/* Lines of a file: the agent keeps 128 MiB of them. At the bound: refused. */
#define EVENTS_MAX (1u << 20)

enum told_kind { TOLD_VIOLATION, TOLD_LOST };

/* A record. Strings are the file's own, bytes as they were before they were escaped. */
struct told {
	enum told_kind kind;
	uint32_t compartment; /* 0: of a loss, whoever it was about */
	uint64_t seq;	      /* of a loss: how many */
	enum bh_hook hook;
	enum bh_reason reason;
	bool denied;	/* a deny rule of the policy said no */
	bool audited;	/* told, and not refused */
	uint32_t perms; /* BH_PERM_* */
	uint32_t tgid, tid;
	uint64_t exec_seq;
	char *path;    /* of a file or socket; NULL when it is about something else */
	bool mapped;   /* the path is one that people write */
	bool own;      /* it stood below its own /proc/PID, which rules call /proc/self */
	char *words;   /* what was tried, fit for a line */
	char *program; /* who: its file, or its name when that was gone */
	bool nameless; /* the program's file was gone */
	char *name;    /* of the compartment; NULL for scratch ones */
};

struct events {
	struct told *items;
	size_t n, size;
};

/* `file` is named in errors. 0; -EBADMSG and the line for what is no record of ours; -ENODATA when
 * there is no violation at all; -E2BIG; -ENOMEM. The caller calls events_done in every case. */
int events_read(FILE *from, const char *file, struct events *ret, struct error *error);
void events_done(struct events *events);

/*
 * The part of the events that one compartment's last run made: violations and losses of its own.
 * `wanted` is a name or an id, or NULL: then it is the only compartment that is called `policy`.
 * -ENOENT and -ENOTUNIQ name those that there are.
 */
struct chosen {
	const struct told **items;
	size_t n, size;
	uint32_t id;	/* 0: several of one name */
	size_t earlier; /* violations of runs before, left out */
	size_t lost;	/* of its own, that never came */
	size_t unowned; /* lost between agent and file, whoever they were about */
};
int events_choose(const struct events *events, const char *wanted, const char *policy,
		  struct chosen *ret, struct error *error);
void chosen_done(struct chosen *chosen);

#endif
