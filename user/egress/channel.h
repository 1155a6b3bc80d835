/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the agent and bulkhead-egressd say to each other: JSON objects, one a message, over the SOCK_SEQPACKET socket that
 * the agent leaves it as descriptor CHANNEL_FD. The agent is root and believed; what comes back is a program's that
 * strangers talk to: read with care, and bounded.
 *
 * Compartments are named by their serial number, which is never given twice. An ADDRESS is a text: "198.18.0.1".
 *
 * From the agent; each is answered by {"is": "done", "of": DO, "serial": N} or {"is": "failed", "of": DO, "serial": N,
 * "error": TEXT, "errno": NUMBER}, in their order:
 *
 *	{"do": "configure", "upstreams": [TEXT...], "synthetic": "198.18.0.0/15", "nat64": [TEXT...],
 *	 "connect-ms": N, "idle-ms": N, "total-ms": N}	the first one, once; with a descriptor: the map of flows
 *	{"do": "ping"}						at any time: is it alive?
 *	{"do": "open", "serial": N, "compartment": ID, "name": TEXT}		a compartment: nothing is listed; with a
 *					descriptor: where it counts what is uploaded (allowances.h)
 *	{"do": "adopt", "serial": N, "names": [[ADDRESS, NAME]...]}		what an earlier process gave
 *	{"do": "list", "serial": N, "entries": [{"to": ENTRY, "max-upload": BYTES, "tls": BOOLEAN}...],
 *	 "proxy": BOOLEAN}		in place of those before; what is not listed any more is cut. proxy: they may be asked
 *					for by CONNECT and SOCKS, too (egressd/proxy.h); left out: no
 *	{"do": "listen", "serial": N, "netns": COOKIE, "sockets": ["relay", "stub4", "stub6"]}
 *					with a descriptor for each word; more than once: other network namespaces
 *	{"do": "unlisten", "serial": N, "netns": COOKIE}	these are closed; connections that were taken go on
 *	{"do": "grant", "serial": N, "lease": N, "only": [NAME...], "for-ms": N}	the last two may be left out: all that
 *					is listed, for good; in place of the grant before. A NAME may begin with "*.", as
 *					an entry's. Of another lease than the last: nothing was uploaded
 *	{"do": "revoke", "serial": N}						flows are cut
 *	{"do": "close", "serial": N}						and so are they here
 *
 * And besides, at any time:
 *
 *	{"is": "gave", "serial": N, "names": [[ADDRESS, NAME]...]}	to be kept, and adopted by the next process
 *	{"is": "event", "serial": N, "what": "query" | "connect" | "flow", ...}		for the stream of events
 *	    query	"name", "type" ("AAAA"), "outcome" (answer_outcome_names), unless it was answered
 *	    connect	"name", "port", "outcome" (egressd/relay.h), "reason": it was not connected
 *	    flow	"name", "port", "address" (that was dialled), "outcome" (flow_outcome_names), "up", "down", "ms": it
 *			ended
 *			"count": N of a query or connect: it stands for so many; the first of its kind is told at once,
 *			those that follow within seconds together. Left out: one
 *	{"is": "lost", "count": N}	events that could not be sent since the last such message
 */
#ifndef EGRESS_CHANNEL_H
#define EGRESS_CHANNEL_H

#define CHANNEL_FD 3
/* Bytes of a message: the longest list, BH_MAX_DESTINATIONS entries of DESTINATION_TEXT_SIZE with what stands around. */
#define CHANNEL_MESSAGE (160u << 10)
/* Pairs in one "adopt" or "gave": below that bound. */
#define CHANNEL_NAMES 256
/* Descriptors that come with a message. */
#define CHANNEL_FDS 3

#endif
