/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What an event is about, by kind. Internal to the audit layer. */
#ifndef AUDIT_OBJECT_H
#define AUDIT_OBJECT_H

#include "event.h"

/* The record's "object" and, to free, how a line for people says it ("" for none). -ENOMEM. */
int object_describe(const struct bh_event *event, const struct event_context *context,
		    json_t **ret_record, char **ret_words);

#endif
