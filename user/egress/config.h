/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How this host's compartments reach what they list: a YAML file, which says of whom names are asked. No resolver is
 * taken from anywhere else, /etc/resolv.conf least of all: whoever answers decides what is dialled.
 *
 *	upstreams: [9.9.9.9, 2620:fe::fe@53]	ADDRESS or ADDRESS@PORT; needed
 *	synthetic: 198.18.0.0/15		stands for names; nothing else may lead there
 *	nat-prefixes: [64:ff9b::/96]		of the translators (NAT64) on this host's way out
 *	connect: 30s				until a connection stands
 *	idle: 15m				until one is ended that nothing moves on
 *	total: 1d				until one is ended in any case
 */
#ifndef EGRESS_CONFIG_H
#define EGRESS_CONFIG_H

#include "base/cleanup.h"
#include "policy/address.h"

#define EGRESS_CONFIG "/etc/bulkhead/egress.yaml"

struct egress_config {
	char **upstreams; /* NULL-terminated; checked, as the next ones */
	char **nat64;
	char *synthetic;
	unsigned int connect_ms, idle_ms, total_ms;
	struct address_rules rules; /* made of them */
};

/* 0; -ENOENT: there is no file, and the error says what to write; -EINVAL with file:line:column; another -errno. */
int egress_config_load(const char *path, struct egress_config **ret, struct error *error);
void egress_config_free(struct egress_config *config);
DEFINE_CLEANUP(struct egress_config *, egress_config_free)

#endif
