// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The relay's cgroup, around which the kernel holds the table of addresses against what it dials. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "egress.h"
#include "egress/resolve.h"

#define FENCE_CGROUP "egressd"
#define PORT_DNS 53

/* "ADDRESS" or "ADDRESS@PORT", which were read once already. */
static int read_resolver(const char *text, struct kern_resolver *ret)
{
	char address[ADDRESS_TEXT_SIZE];
	size_t n = strcspn(text, "@");

	if (n >= sizeof(address))
		return -EINVAL;
	memcpy(address, text, n);
	address[n] = '\0';
	ret->port = text[n] ? (__u16)strtoul(text + n + 1, NULL, 10) : PORT_DNS;
	return address_parse(address, &ret->address);
}

static int fill(struct egress *e, struct error *error)
{
	struct kern_resolver resolvers[RESOLVE_UPSTREAMS];
	size_t n = 0;
	int r = 0;

	for (char **text = e->config->upstreams; !r && *text && n < RESOLVE_UPSTREAMS; text++)
		r = read_resolver(*text, &resolvers[n++]);
	if (!r)
		r = kern_fence_fill(e->daemon->kern, &e->config->rules, resolvers, n);
	return r ? error_set(error, -r, "the relay's fence: %s", strerror(-r)) : 0;
}

int egress_fence(struct egress *e, struct error *error)
{
	int r = cgroup_own_get(FENCE_CGROUP, &e->fence, error);

	if (!r)
		r = fill(e, error);
	if (!r)
		r = kern_fence_attach(e->daemon->kern, e->fence, error);
	if (!r)
		kern_fence_refused(e->daemon->kern, &e->fence_refused);
	return r;
}

void egress_fence_end(struct egress *e)
{
	if (!e->fence)
		return;
	kern_fence_detach(e->daemon->kern);
	cgroup_remove(e->fence);
	free(e->fence);
	e->fence = NULL;
}

void egress_fence_look(struct egress *e)
{
	__u64 refused;
	char text[64];

	if (kern_fence_refused(e->daemon->kern, &refused) || refused == e->fence_refused)
		return;
	snprintf(text, sizeof(text), "%llu that it had taken for public",
		 (unsigned long long)(refused - e->fence_refused));
	e->fence_refused = refused;
	log_error("egress: the relay's fence refused addresses: %s", text);
	egress_tell(e, NULL, "relay", "fenced", text);
}
