// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The event ring, read by one process at a time. */
#include "internal.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

struct kern_ring {
	struct ring_buffer *buffer;
	kern_event_fn fn;
	void *data;
};

static int on_sample(void *data, void *sample, size_t size)
{
	struct kern_ring *ring = data;

	if (size < sizeof(struct bh_event))
		return 0;
	return ring->fn(sample, size, ring->data);
}

DEFINE_CLEANUP(struct kern_ring *, kern_ring_close)

int kern_ring_open(struct kern *kern, kern_event_fn fn, void *data, struct kern_ring **ret)
{
	_cleanup_(cleanup_kern_ring_close) struct kern_ring *ring = calloc(1, sizeof(*ring));

	if (!ring)
		return -ENOMEM;
	ring->fn = fn;
	ring->data = data;
	ring->buffer = ring_buffer__new(kern->maps[KERN_MAP_RING], on_sample, ring, NULL);
	if (!ring->buffer)
		return -errno;
	*ret = TAKE_PTR(ring);
	return 0;
}

void kern_ring_close(struct kern_ring *ring)
{
	if (!ring)
		return;
	ring_buffer__free(ring->buffer);
	free(ring);
}

int kern_ring_fd(struct kern_ring *ring)
{
	return ring_buffer__epoll_fd(ring->buffer);
}

int kern_ring_consume(struct kern_ring *ring)
{
	return ring_buffer__consume(ring->buffer);
}
