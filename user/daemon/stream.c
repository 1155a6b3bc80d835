// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Events of the kernel become records; records go to the file and to the subscribers. Nothing here
 * waits for a reader. */
#include "daemon.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include "audit/event.h"
#include "base/cleanup.h"
#include "subject.h"

static int64_t clock_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

int64_t now_realtime_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

uint64_t now_us(void)
{
	return (uint64_t)clock_ns(CLOCK_MONOTONIC) / 1000;
}

void stream_publish(struct daemon *d, json_t *record)
{
	_cleanup_free_ char *json = record ? json_dumps(record, JSON_COMPACT) : NULL;
	_cleanup_free_ char *line = NULL;
	int n = json ? asprintf(&line, "%s\n", json) : -1;

	json_decref(record);
	if (n < 0) {
		line = NULL;
		log_error("out of memory: a record is lost");
		return;
	}
	sink_write(d->sink, line, (size_t)n);
	server_publish(d, line, (size_t)n);
}

void stream_lost(struct daemon *d, __u32 compartment, __u64 count)
{
	if (count)
		stream_publish(d, loss_record(compartment, count, now_realtime_ns()));
}

/* Events of scratch compartments have a record of no one, or an id that is someone else's by now.
 */
static bool is_of(const struct entry *entry, const struct bh_event *event)
{
	return entry && entry->record &&
	       (event->generation == entry->record->generation ||
		event->generation == entry->old_generation);
}

static const struct rule *deciding_rule(const struct compartment *c, const struct bh_event *event,
					const char *path)
{
	const struct rule *rule;
	bool allowed = false;

	if (!c->loaded || !event->perms || !path)
		return NULL;
	rule = policy_explain(c->loaded, path, strlen(path), event->perms, &allowed);
	if (event->reason == BH_REASON_AUDITED)
		return policy_watching(c->loaded, path, strlen(path), event->perms);
	/* The text says yes: it is not the text that was enforced, so it names nothing. */
	return allowed ? NULL : rule;
}

/* Path as people write it: of a file by the members' mounts; a socket's name is that already. */
static const char *object_path(struct daemon *d, struct entry *entry, const struct bh_event *event,
			       char *buffer, size_t size)
{
	static char own[sizeof("/proc") + BH_MAX_PATH + 1]; /* one thread */
	const char *name;
	size_t n = event_name(event, &name);

	if (event->kind == BH_OBJECT_PATH && event->object[0] == BH_SBID_OWN_PROC) {
		snprintf(own, sizeof(own), "/proc%.*s", (int)n, name);
		return own;
	}
	if (event->kind == BH_OBJECT_PATH)
		return registry_translate(d, entry, event->object[0], name, n);
	if (event->kind != BH_OBJECT_UNIX || n >= size)
		return NULL;
	memcpy(buffer, name, n);
	buffer[n] = '\0';
	return buffer;
}

static void publish_event(struct daemon *d, struct entry *entry, const struct bh_event *event)
{
	static struct subject subject; /* large; one thread */
	struct event_context context = {
		.realtime_offset_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC),
	};
	char name[BH_MAX_NAME + 1];

	/* Refusals come in bursts of one program. */
	if (event->tgid != subject.tgid || event->start_ns != subject.start_ns ||
	    event->exec_seq != subject.exec_seq)
		subject_read(event, &subject);
	context.exe = *subject.exe ? subject.exe : NULL;
	context.ancestry = subject.ancestry;
	context.nancestry = subject.nancestry;
	if (is_of(entry, event)) {
		const char *path = object_path(d, entry, event, name, sizeof(name));

		context.name = entry->record->name;
		context.path = event->kind == BH_OBJECT_PATH ? path : NULL;
		context.rule = deciding_rule(entry->record, event, path);
	}
	stream_publish(d, event_record(event, &context));
}

static void account(struct daemon *d, const struct entry *entry, const struct bh_event *event)
{
	bool late;

	if (!is_of(entry, event))
		return;
	stream_lost(d, event->compartment,
		    loss_seen(d->loss, event->compartment, event->seq, &late));
	if (late)
		log_debug("compartment %u: event %llu came after it was given up",
			  event->compartment, (unsigned long long)event->seq);
}

/* Events read before the loop is asked again. */
#define STREAM_BATCH 256
/* Ends a batch; the event that it is said of was read. */
#define STREAM_ENOUGH (-ECANCELED)

static int on_event(const struct bh_event *event, size_t size, void *data)
{
	struct daemon *d = data;
	struct entry *entry;
	int r = ++d->batch >= STREAM_BATCH ? STREAM_ENOUGH : 0;

	if (event_check(event, size)) {
		if (!d->malformed++)
			log_error("an event made no sense: dropped (later ones are only counted)");
		return r;
	}
	entry = registry_find(d, event->compartment, event->generation);
	if (event->bits & BH_EVENT_REPEATED) {
		publish_event(d, entry, event);
		return r;
	}
	account(d, entry, event);
	publish_event(d, entry, event);
	if (event->hook == BH_HOOK_CGROUP_MOVE)
		upkeep_moved(d);
	if (event->reason == BH_REASON_TRIPWIRE)
		upkeep_tripped(d, event->compartment);
	/* By the view that is in force: refusals of the one before may come behind its renewal. */
	if (event->reason == BH_REASON_UNSURE_SB && is_of(entry, event) &&
	    event->generation == entry->record->generation)
		upkeep_renew(d, entry);
	return r;
}

bool stream_drain(struct daemon *d)
{
	int r;

	d->batch = 0;
	r = kern_ring_consume(d->ring);
	if (r < 0 && r != STREAM_ENOUGH && r != -EINTR)
		log_error("events cannot be read: %s", strerror(-r));
	if (r >= 0)
		d->emptied = true;
	return r >= 0;
}

static int on_repeat(const struct bh_event *event, size_t size, void *data)
{
	struct daemon *d = data;

	if (event_check(event, size) == 0)
		publish_event(d, registry_find(d, event->compartment, event->generation), event);
	return 0;
}

void stream_repeats(struct daemon *d, __u32 compartment)
{
	kern_folds_take(d->kern, compartment, on_repeat, d);
}

static int on_ring(sd_event_source *source _unused_, int fd _unused_, uint32_t events _unused_,
		   void *data)
{
	stream_drain(data);
	return 0;
}

int stream_open(struct daemon *d, struct error *error)
{
	int r = sink_open(CONTROL_EVENTS, CONTROL_MAX_EVENTS_BYTES, d->group, &d->sink);

	if (r)
		return error_set(error, -r, "%s: %s", CONTROL_EVENTS, strerror(-r));
	r = kern_ring_open(d->kern, on_event, d, &d->ring);
	if (r)
		return error_set(error, -r, "the ring of events: %s", strerror(-r));
	r = sd_event_add_io(d->event, NULL, kern_ring_fd(d->ring), EPOLLIN, on_ring, d);
	return r < 0 ? error_set(error, -r, "event loop: %s", strerror(-r)) : 0;
}
