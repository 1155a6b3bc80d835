// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "audit/escape.h"
#include "base/cleanup.h"
#include "policy/grow.h"
#include "policy/policy.h"

/* What a thread did last; another thread may take its place, and then nothing is known. */
struct last {
	uint32_t tid;
	uint64_t exec_seq;
	enum bh_hook hook;
	size_t use;
	size_t program; /* of this exec_seq: use and one; 0: none */
};

#define LASTS 4096

struct fold {
	struct run *run;
	struct last lasts[LASTS];
};

/* --- remarks --- */

#define REMARK_ROW_(name, lacking, heading) {lacking, heading},
static const struct {
	bool lacking;
	const char *heading;
} remark_rows[] = {REMARKS(REMARK_ROW_)};

const char *remark_heading(enum remark_kind kind)
{
	return remark_rows[kind].heading;
}

bool remark_is_lack(enum remark_kind kind)
{
	return remark_rows[kind].lacking;
}

int run_remark(struct run *run, enum remark_kind kind, const char *text, const char *program,
	       size_t times)
{
	char *own;

	if (run->nremarks >= RUN_MAX_REMARKS)
		text = "and others";
	for (size_t i = 0; i < run->nremarks; i++) {
		if (run->remarks[i].kind != kind || strcmp(run->remarks[i].text, text) != 0)
			continue;
		run->remarks[i].times += times;
		return 0;
	}
	if (grow(&run->remarks, &run->remarks_size, run->nremarks + 1) < 0)
		return -ENOMEM;
	own = strdup(text);
	if (!own)
		return -ENOMEM;
	run->remarks[run->nremarks++] = (struct remark){kind, own, program, times};
	return 0;
}

int run_remark_use(struct run *run, enum remark_kind kind, const struct use *use, uint32_t perms)
{
	_cleanup_free_ char *path = escape_bytes(use->path, strlen(use->path)), *text = NULL;
	char rights[128];

	if (!path ||
	    asprintf(&text, "%s %s", perms_to_text(perms, rights, sizeof(rights)), path) < 0)
		return -ENOMEM;
	return run_remark(run, kind, text, use->programs[0], use->times);
}

static int remark_told(struct run *run, enum remark_kind kind, const struct told *told)
{
	return run_remark(run, kind, told->words, told->program, 1);
}

/* --- uses --- */

const struct use *run_use(const struct run *run, const char *path)
{
	uint64_t hash = hash_text(path);
	__u32 item;

	if (!run->by_path.nslots)
		return NULL;
	for (size_t at = hash_begin(&run->by_path, hash);
	     hash_next(&run->by_path, hash, &at, &item);)
		if (!strcmp(run->uses[item].path, path))
			return &run->uses[item];
	return NULL;
}

static int use_of(struct run *run, const char *path, size_t *ret)
{
	uint64_t hash = hash_text(path);
	size_t at;
	__u32 item;

	if (hash_reserve(&run->by_path) < 0 ||
	    grow(&run->uses, &run->uses_size, run->nuses + 1) < 0)
		return -ENOMEM;
	for (at = hash_begin(&run->by_path, hash); hash_next(&run->by_path, hash, &at, &item);) {
		*ret = item;
		if (!strcmp(run->uses[item].path, path))
			return 0;
	}
	hash_put(&run->by_path, hash, at, (__u32)run->nuses);
	*ret = run->nuses;
	run->uses[run->nuses++] = (struct use){.path = path};
	return 0;
}

static void note_program(struct use *use, const char *program)
{
	for (size_t i = 0; i < USE_MAX_PROGRAMS; i++) {
		if (!use->programs[i])
			use->programs[i] = program;
		if (!strcmp(use->programs[i], program))
			return;
	}
	use->others = true;
}

/* A number as a word of its own: 47 is not in x471. */
static bool has_number(const char *name, uint32_t number)
{
	char text[16];
	size_t n = (size_t)snprintf(text, sizeof(text), "%u", number);

	for (const char *p = name; (p = strstr(p, text)); p++)
		if ((p == name || p[-1] < '0' || p[-1] > '9') && (p[n] < '0' || p[n] > '9'))
			return true;
	return false;
}

static void note_pid(struct use *use, const struct told *told)
{
	const char *name = strrchr(use->path, '/');

	if (!name || use->pid)
		return;
	if (told->tgid > 9 && has_number(name, told->tgid))
		use->pid = told->tgid;
	else if (told->tid > 9 && has_number(name, told->tid))
		use->pid = told->tid;
}

static int count_use(struct run *run, const struct told *told, size_t *ret)
{
	int r = use_of(run, told->path, ret);
	struct use *use;

	if (r < 0)
		return r;
	use = &run->uses[*ret];
	use->hooks |= 1ull << told->hook;
	use->times++;
	note_program(use, told->program);
	note_pid(use, told);
	if (told->hook == BH_HOOK_PATH_SYMLINK)
		use->is_link = true;
	return 0;
}

/* --- programs: exec, or interp alone --- */

/* Of what is there now; anything else is taken for a program, which asks for more. */
static bool is_script(const char *path)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	char head[2];

	if (lstat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	return fd >= 0 && read(fd, head, 2) == 2 && !memcmp(head, "#!", 2);
}

/* The kernel asks of a script first and then, in the same exec, of its interpreter. */
static uint32_t exec_or_interp(const struct run *run, struct last *last, const struct told *told,
			       size_t use)
{
	if (last->program && last->program - 1 != use &&
	    is_script(run->uses[last->program - 1].path))
		return BH_PERM_INTERP;
	last->program = use + 1;
	return told->perms;
}

/* --- renames: the old name's event comes in front of the new one's --- */

static int pair_names(struct fold *fold, struct last *last, const struct told *told, size_t use)
{
	struct run *run = fold->run;
	bool is_new = told->perms & BH_PERM_CREATE;
	bool has_old = last->hook == BH_HOOK_PATH_RENAME && told->hook == BH_HOOK_PATH_RENAME;

	if (!is_new)
		return 0;
	/* What this run leaves there the next one replaces. */
	if (told->hook == BH_HOOK_PATH_RENAME)
		run->uses[use].perms |= BH_PERM_DELETE;
	/* Of a link the old name is asked nothing, so nothing is told of it. */
	if (told->hook == BH_HOOK_PATH_LINK) {
		run->uses[use].is_linked = true;
		return 0;
	}
	/* An exchange's old name is one that is made, too. */
	if (!has_old)
		return run_remark_use(run, REMARK_RENAME, &run->uses[use], told->perms);
	if (grow(&run->renames, &run->renames_size, run->nrenames + 1) < 0)
		return -ENOMEM;
	run->renames[run->nrenames++] = (struct rename){last->use, use};
	return 0;
}

static struct last *last_of(struct fold *fold, const struct told *told)
{
	struct last *last = &fold->lasts[told->tid % LASTS];

	if (last->tid != told->tid)
		*last = (struct last){.tid = told->tid};
	if (last->exec_seq != told->exec_seq)
		last->program = 0;
	last->exec_seq = told->exec_seq;
	return last;
}

/* --- what is to be done about an event, by its reason --- */

static int fold_use(struct fold *fold, const struct told *told)
{
	bool names = told->hook == BH_HOOK_PATH_RENAME || told->hook == BH_HOOK_PATH_LINK;
	struct last *last = last_of(fold, told);
	struct run *run = fold->run;
	uint32_t perms = told->perms;
	size_t use = 0;
	int r;

	if (told->path && !told->mapped)
		return remark_told(run, REMARK_UNMAPPED, told);
	if (!told->path || !perms)
		return remark_told(run, REMARK_NAMELESS, told);
	r = count_use(run, told, &use);
	if (r == 0 && names)
		r = pair_names(fold, last, told, use);
	if (told->hook == BH_HOOK_BPRM_CHECK)
		perms = exec_or_interp(run, last, told, use);
	if (told->hook == BH_HOOK_FILE_OPEN && perms & BH_PERM_EXEC) {
		run->uses[use].loaded = true;
		perms &= ~(uint32_t)BH_PERM_EXEC;
	}
	run->uses[use].perms |= perms;
	/* The new name ends a pair. */
	last->hook = names && perms & BH_PERM_CREATE ? BH_HOOK_NONE : told->hook;
	last->use = use;
	return r;
}

/* What the policy gives there is asked for again, by a rule that older links need. */
static int fold_old_link(struct fold *fold, const struct told *told)
{
	size_t use = 0;
	int r = fold_use(fold, told);

	if (r < 0 || !told->mapped || !told->perms)
		return r;
	r = use_of(fold->run, told->path, &use);
	if (r == 0)
		fold->run->uses[use].old_link = true;
	return r;
}

static int fold_denied(struct fold *fold, const struct told *told)
{
	return remark_told(fold->run, REMARK_DENIED, told);
}

/* Of the program that runs: its file is the one the agent saw. */
static int fold_jit(struct fold *fold, const struct told *told)
{
	struct told program = *told;
	size_t use;
	int r;

	if (told->nameless || told->program[0] != '/')
		return remark_told(fold->run, REMARK_PROGRAM, told);
	program.path = told->program;
	r = count_use(fold->run, &program, &use);
	if (r == 0)
		fold->run->uses[use].perms |= BH_PERM_JIT;
	return r;
}

static int fold_rights(struct fold *fold, const struct told *told)
{
	return remark_told(fold->run, told->mapped ? REMARK_RENAME : REMARK_UNMAPPED, told);
}

/* /proc/PID of the own process is what proc: none closes. */
static int fold_proc(struct fold *fold, const struct told *told)
{
	if (!told->own)
		return remark_told(fold->run, REMARK_PROC, told);
	fold->run->proc_self = true;
	return fold_use(fold, told);
}

static int fold_network(struct fold *fold, const struct told *told)
{
	return remark_told(fold->run, REMARK_NETWORK, told);
}

static int fold_outsider(struct fold *fold, const struct told *told)
{
	return remark_told(fold->run, REMARK_OUTSIDER, told);
}

static int fold_closed(struct fold *fold, const struct told *told)
{
	return remark_told(fold->run, REMARK_CLOSED, told);
}

/* Someone else moved a process, or what was done is allowed: nothing that the workload lacks. */
static int fold_nothing(struct fold *fold _unused_, const struct told *told _unused_)
{
	return 0;
}

static int fold_unsure(struct fold *fold, const struct told *told)
{
	return remark_told(fold->run, REMARK_UNDECIDED, told);
}

/* Its filesystem became known a moment later, and the name with it. */
static int fold_new_filesystem(struct fold *fold, const struct told *told)
{
	return told->mapped && told->perms ? fold_use(fold, told) : fold_unsure(fold, told);
}

typedef int (*fold_fn)(struct fold *fold, const struct told *told);
static const fold_fn by_reason[BH_REASON_COUNT] = {
	[BH_REASON_NO_RULE] = fold_use,	      [BH_REASON_CLOSED] = fold_closed,
	[BH_REASON_NETWORK] = fold_network,   [BH_REASON_JIT] = fold_jit,
	[BH_REASON_RIGHTS] = fold_rights,     [BH_REASON_OUTSIDER] = fold_outsider,
	[BH_REASON_PROC_OTHER] = fold_proc,   [BH_REASON_MOVED] = fold_nothing,
	[BH_REASON_AUDITED] = fold_nothing,   [BH_REASON_TRIPWIRE] = fold_denied,
	[BH_REASON_OLD_LINK] = fold_old_link, [BH_REASON_PINNED] = fold_denied,
	[BH_REASON_TRIPPED] = fold_nothing,   [BH_REASON_UNSURE_SB] = fold_new_filesystem,
};

static int fold_told(struct fold *fold, const struct told *told)
{
	fold_fn take = by_reason[told->reason] ? by_reason[told->reason] : fold_unsure;

	fold->run->enforced += !told->audited;
	return told->denied ? fold_denied(fold, told) : take(fold, told);
}

/* --- the whole --- */

static int by_text(const void *a, const void *b)
{
	const struct remark *x = a, *y = b;

	return x->kind != y->kind ? (int)x->kind - (int)y->kind : strcmp(x->text, y->text);
}

int run_fold(const struct chosen *chosen, struct run *ret)
{
	_cleanup_free_ struct fold *fold = calloc(1, sizeof(*fold));
	int r = fold ? 0 : -ENOMEM;

	if (fold)
		fold->run = ret;
	for (size_t i = 0; r == 0 && i < chosen->n; i++)
		r = fold_told(fold, chosen->items[i]);
	/* Opened to run and never the program: what loads programs. */
	for (size_t i = 0; r == 0 && i < ret->nuses; i++)
		if (ret->uses[i].loaded && !(ret->uses[i].perms & BH_PERM_EXEC))
			ret->uses[i].perms |= BH_PERM_INTERP;
	if (ret->nremarks)
		qsort(ret->remarks, ret->nremarks, sizeof(*ret->remarks), by_text);
	return r;
}

void run_done(struct run *run)
{
	for (size_t i = 0; i < run->nremarks; i++)
		free(run->remarks[i].text);
	free(run->remarks);
	free(run->renames);
	free(run->uses);
	hash_done(&run->by_path);
}
