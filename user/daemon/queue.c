// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include "base/cleanup.h"
#include "client.h"

struct line *line_new(const char *text, size_t n)
{
	struct line *line = malloc(sizeof(*line) + n);

	if (!line)
		return NULL;
	line->refs = 1;
	line->n = n;
	memcpy(line->text, text, n);
	return line;
}

void line_unref(struct line *line)
{
	if (line && !--line->refs)
		free(line);
}

static void append(struct queue *queue, struct line *line)
{
	queue->lines[(queue->first + queue->n++) % CONTROL_MAX_QUEUE] = line;
}

static bool say_lost(struct queue *queue)
{
	json_t *record = loss_record(0, queue->lost, now_realtime_ns());
	_cleanup_free_ char *json = record ? json_dumps(record, JSON_COMPACT) : NULL;
	_cleanup_free_ char *text = NULL;
	struct line *line = NULL;
	int n = json ? asprintf(&text, "%s\n", json) : -1;

	json_decref(record);
	if (n < 0)
		text = NULL;
	else
		line = line_new(text, (size_t)n);
	if (!line)
		return false;
	append(queue, line);
	queue->lost = 0;
	return true;
}

void queue_push(struct queue *queue, struct line *line)
{
	unsigned int room = CONTROL_MAX_QUEUE - queue->n;

	if (queue->lost && (room < 2 || !say_lost(queue))) {
		queue->lost++;
		return;
	}
	if (!room) {
		queue->lost++;
		return;
	}
	line->refs++;
	append(queue, line);
}

int queue_send(struct queue *queue, int fd)
{
	/* What was lost at the end of a burst is said when the queue is empty, not at the next one.
	 */
	while (queue->n || (queue->lost && say_lost(queue))) {
		struct line *line = queue->lines[queue->first];
		ssize_t n = send(fd, line->text + queue->sent, line->n - queue->sent,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		queue->sent += (size_t)n;
		if (queue->sent < line->n)
			continue;
		queue->sent = 0;
		queue->first = (queue->first + 1) % CONTROL_MAX_QUEUE;
		queue->n--;
		line_unref(line);
	}
	return 1;
}

void queue_done(struct queue *queue)
{
	for (; queue->n; queue->n--) {
		line_unref(queue->lines[queue->first]);
		queue->first = (queue->first + 1) % CONTROL_MAX_QUEUE;
	}
}
