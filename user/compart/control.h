/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The control socket: a stream. The client sends one request, a JSON object and a newline; the
 * agent answers with one object and a newline, {"ok": true, ...} or {"ok": false, "error": TEXT,
 * "errno": NUMBER, ...}, and closes; after "events" it goes on with one record a line.
 */
#ifndef COMPART_CONTROL_H
#define COMPART_CONTROL_H

#include "kern/kern.h"

#define CONTROL_SOCKET KERN_RUN_DIR "/control.sock"
#define CONTROL_LOCK KERN_RUN_DIR "/bulkheadd.lock" /* held by the running agent */
#define CONTROL_EVENTS KERN_RUN_DIR "/events.jsonl" /* and CONTROL_EVENTS ".1", the part before */

#define CONTROL_GROUP_READ "bulkhead"
#define CONTROL_GROUP_CHANGE "bulkhead-admin"

/* Bytes of a request, newline included. At the bound: refused. */
#define CONTROL_MAX_REQUEST (64u << 10)
/* Connections at once; the last quarter is for root, so that readers cannot keep an operator out.
 * At the bound: answered with an error and closed. */
#define CONTROL_MAX_CLIENTS 32
/* For the whole request to come, and for the answer to be taken. At the bound: closed. */
#define CONTROL_CLIENT_MS 5000
/* For an answer that waits for another process, the relay of egress. At the bound: an answer that says so. */
#define CONTROL_LATER_MS 15000
/* Records waiting for one subscriber. At the bound: lost, counted, and said so in the stream. */
#define CONTROL_MAX_QUEUE 1024
/* Bytes of the file of records. At the bound: it becomes ".1" and a new one begins. */
#define CONTROL_MAX_EVENTS_BYTES (64u << 20)
/* For an answer: an attach freezes and proves first. */
#define CONTROL_ANSWER_MS 120000

#endif
