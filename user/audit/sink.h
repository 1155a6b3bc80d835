/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The file of records, bounded: at max_bytes it becomes PATH.1 and a new one begins. A write that
 * fails (a full disk) is counted and never waited for; the first record that can be written again
 * is preceded by a "lost" record with the exact count.
 */
#ifndef AUDIT_SINK_H
#define AUDIT_SINK_H

#include <stdint.h>
#include <sys/types.h>

struct sink;
/* The file's group may read it (gid -1: the process's own). -ELOOP when the path is a symbolic
 * link. */
int sink_open(const char *path, uint64_t max_bytes, gid_t group, struct sink **ret);
void sink_close(struct sink *sink);
/* One line, its newline included. */
void sink_write(struct sink *sink, const char *line, size_t n);
uint64_t sink_failed(const struct sink *sink); /* lines that could not be written, ever */

#endif
