/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queries of a compartment's programs, by UDP and by TCP. */
#ifndef EGRESSD_STUB_H
#define EGRESSD_STUB_H

#include "egress/answer.h"
#include "egressd.h"

/* A stub's socket is readable. */
int stub_on_socket(sd_event_source *source, int fd, uint32_t events, void *outlet);

/* The compartment's answer, with what is told of it. */
void stub_answer(struct compartment *c, const void *query, size_t length, struct answer *ret);

/* --- tcp_query.c: a connection that queries come by --- */

struct tcp_query;

/* Takes the descriptor. 0, or -errno and it is the caller's still. */
int tcp_query_new(struct compartment *c, int fd);
void tcp_query_free(struct tcp_query *query);

#endif
