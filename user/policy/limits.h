/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a command that `bulkhead run` starts may use. All of it is finite: what a policy does not say has a default,
 * and no word means "no limit".
 */
#ifndef POLICY_LIMITS_H
#define POLICY_LIMITS_H

#include <linux/types.h>

/*
 * X(name, key, form, fallback, least, most, what): how it is called, what a policy calls it, how it is written, what it
 * is where a policy does not say, and between which values it may be said. Of what the kernel bounds itself the most is
 * its bound: pids.max and PID_MAX_LIMIT (linux/threads.h), RLIMIT_NOFILE and fs.nr_open (proc_sys_fs(5)).
 */
#define LIMITS_ROWS(X)                                                                            \
	X(WALL, "wall", TIME, "24h", 1, 365ull * 24 * 3600 * 1000,                                \
	  "time from its start to its end")                                                       \
	X(CPU, "cpu", PERCENT, "400%", 1, 409600, "processor time a second, of one processor")    \
	X(PROCESSES, "processes", COUNT, "1024", 1, 4194304, "processes and threads at once")     \
	X(MEMORY, "memory", BYTES, "4GiB", 1 << 20, 1ull << 50,                                   \
	  "memory, with its files in tmpfs and its caches")                                       \
	X(SWAP, "swap", BYTES, "0", 0, 1ull << 50, "swap beside it")                              \
	X(OPEN_FILES, "open-files", COUNT, "16384", 16, 1048576, "open descriptors of a process") \
	X(FILE_SIZE, "file-size", BYTES, "16GiB", 1, 1ull << 60, "bytes of a file that it writes")

#define LIMITS_ENUM_(name, key, form, fallback, least, most, what) LIMIT_##name,
enum limit { LIMITS_ROWS(LIMITS_ENUM_) LIMITS };

enum limit_form {
	LIMIT_FORM_TIME,    /* milliseconds; written 30s, 10m, 2h, 1d */
	LIMIT_FORM_BYTES,   /* written 512MiB */
	LIMIT_FORM_COUNT,   /* written 64 */
	LIMIT_FORM_PERCENT, /* of one processor; written 150% */
};

struct limit_row {
	const char *key;
	enum limit_form form;
	const char *fallback;
	__u64 least, most;
	const char *what;
};
extern const struct limit_row limit_rows[LIMITS];

/* *ret: the value as in enum limit_form. 0, or -EINVAL and *ret_why: what to write instead. */
int limit_parse(enum limit limit, const char *text, __u64 *ret, const char **ret_why);

/* As it would be written. Returns buffer. */
#define LIMIT_TEXT_SIZE 48
char *limit_format(enum limit limit, __u64 value, char buffer[LIMIT_TEXT_SIZE]);

/* Those of a policy that says nothing. */
void limits_default(__u64 ret[LIMITS]);

#endif
