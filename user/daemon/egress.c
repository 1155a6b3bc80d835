// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "egress.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include "base/duration.h"
#include "client.h"
#include "egress/range.h"

#define EGRESS_DIR KERN_RUN_DIR "/egress"
#define EGRESS_PROGRAM "bulkhead-egressd"
#define EGRESS_USER "bulkhead-egress"

/* --- ways come and go --- */

static bool is_asked_about(const struct egress *e, __u32 id)
{
	return e->asked && e->asked_id == id;
}

/* One that is ended is gone when the relay knows nothing of it. */
static void let_go(struct egress *e, __u32 id)
{
	struct way *way = e->ways[id];

	if (!way || !way->ended || way->opened || is_asked_about(e, id))
		return;
	way_free(way);
	e->ways[id] = NULL;
	/* Its number may have been waited for. */
	egress_soon(e->daemon);
}

static void end_way(struct egress *e, struct way *way)
{
	if (way->ended)
		return;
	way->ended = true;
	kern_outlets_clear(e->daemon->kern, way->compartment);
	kept_forget(e->directory, way->of.serial);
}

static struct way *begin_way(struct egress *e, const struct compartment *c, __u64 serial)
{
	struct kept_of of = {.serial = serial, .cgroup_id = c->cgroup_id};
	struct way *way;

	memcpy(of.boot, e->boot, sizeof(of.boot));
	snprintf(of.range, sizeof(of.range), "%s", e->config->synthetic);
	way = way_new(c, &of, e->directory);
	if (!way) {
		log_error("compartment %s: no memory for its way out", c->name);
		return NULL;
	}
	/* Of an earlier agent's relay. */
	kern_outlets_clear(e->daemon->kern, c->id);
	e->ways[c->id] = way;
	return way;
}

bool egress_is_in_force(const struct compartment *c)
{
	char digest[POLICY_DIGEST_SIZE];

	return c->loaded && !strcmp(policy_digest_text(c->loaded, digest), c->digest);
}

static bool is_live(struct egress *e, const struct compartment *c, __u64 *ret_serial)
{
	struct bh_compartment now;

	if (!c || kern_compartment_get(e->daemon->kern, c->id, &now) ||
	    now.state != BH_STATE_ENFORCED)
		return false;
	*ret_serial = now.serial;
	return true;
}

static void rename_way(struct way *way, const char *name)
{
	char *copy = strcmp(way->name, name) ? strdup(name) : NULL;

	if (!copy)
		return;
	free(way->name);
	way->name = copy;
}

static void list_of(struct egress *e, const struct compartment *c, __u64 serial)
{
	struct way *way = e->ways[c->id];
	json_t *entries;

	if (!c->loaded->negress) {
		if (way)
			end_way(e, way);
		return;
	}
	entries = way_entries(c->loaded);
	if (entries && !way)
		way = begin_way(e, c, serial);
	if (!entries || !way) {
		json_decref(entries);
		return;
	}
	way_list(way, entries, c->loaded->proxy);
	rename_way(way, c->name);
}

static void update(struct egress *e, __u32 id)
{
	const struct compartment *c = e->daemon->entries[id].record;
	struct way *way = e->ways[id];
	__u64 serial = 0;
	bool live = is_live(e, c, &serial);

	if (way && (!live || way->of.serial != serial))
		end_way(e, way);
	let_go(e, id);
	way = e->ways[id];
	if (!live || (way && way->ended))
		return;
	if (egress_is_in_force(c))
		list_of(e, c, serial);
	way = e->ways[id];
	if (way && !way->ended) {
		if (!way_count(way, e->directory))
			log_warning("compartment %s: nothing leaves: %s", way->name, way->why);
		egress_scan(e, way, c->loaded && c->loaded->nested);
	}
	let_go(e, id);
}

/* --- grants --- */

static void arm_expiry(struct egress *e)
{
	uint64_t soonest = UINT64_MAX;

	for (__u32 id = 1; id < BH_MAX_COMPARTMENTS; id++) {
		const struct way *way = e->ways[id];

		if (way && way->grant.given && way->grant.until_ms && way->grant.until_ms < soonest)
			soonest = way->grant.until_ms;
	}
	if (soonest == UINT64_MAX) {
		sd_event_source_set_enabled(e->expiry_timer, SD_EVENT_OFF);
		return;
	}
	sd_event_source_set_time(e->expiry_timer, soonest * 1000);
	sd_event_source_set_enabled(e->expiry_timer, SD_EVENT_ONESHOT);
}

static void forget_grant(struct egress *e, struct way *way)
{
	struct grant none = {0};

	grant_forget(e->directory, &way->of);
	way_grant(way, &none);
}

static void expire(struct egress *e, struct way *way)
{
	char uid[64];

	snprintf(uid, sizeof(uid), "the time of uid %u's grant is over", way->grant.uid);
	forget_grant(e, way);
	egress_tell(e, way, "grant", "expired", uid);
	log_info("compartment %s: egress: %s", way->name, uid);
}

static int on_expiry(sd_event_source *source _unused_, uint64_t usec _unused_, void *data)
{
	struct egress *e = data;

	for (__u32 id = 1; id < BH_MAX_COMPARTMENTS; id++) {
		struct way *way = e->ways[id];

		if (way && way->grant.given && !grant_left_ms(&way->grant))
			expire(e, way);
	}
	arm_expiry(e);
	relay_poke(e->relay);
	return 0;
}

int egress_grant(struct daemon *d, struct way *way, struct grant *grant, struct error *error)
{
	int r;

	grant->lease = boot_ms();
	if (grant->lease <= way->grant.lease)
		grant->lease = way->grant.lease + 1;
	r = grant_save(d->egress->directory, &way->of, grant);
	if (r)
		return error_set(error, -r, "%s: the grant cannot be kept: %s",
				 d->egress->directory, strerror(-r));
	way_grant(way, grant);
	arm_expiry(d->egress);
	relay_poke(d->egress->relay);
	return 0;
}

void egress_revoke(struct daemon *d, struct way *way)
{
	forget_grant(d->egress, way);
	arm_expiry(d->egress);
	relay_poke(d->egress->relay);
}

/* --- what the relay is asked --- */

static json_t *texts_record(char **texts)
{
	json_t *array = json_array();

	for (char **t = texts; t && *t; t++)
		json_array_append_new(array, json_string(*t));
	return array;
}

static bool say_configure(struct egress *e, struct relay_ask *ret)
{
	const struct egress_config *c = e->config;

	*ret = (struct relay_ask){.nfds = 1};
	ret->fds[0] = kern_flows_fd(e->daemon->kern);
	ret->message =
		json_pack("{s:s, s:o, s:s, s:o, s:I, s:I, s:I}", "do", "configure", "upstreams",
			  texts_record(c->upstreams), "synthetic", c->synthetic, "nat64",
			  texts_record(c->nat64), "connect-ms", (json_int_t)c->connect_ms,
			  "idle-ms", (json_int_t)c->idle_ms, "total-ms", (json_int_t)c->total_ms);
	return ret->message;
}

/* Who is next: what is urgent first, and the others in turn. 0: nobody. */
static __u32 next_way(const struct egress *e)
{
	__u32 found = 0;

	for (__u32 i = 0; i < BH_MAX_COMPARTMENTS; i++) {
		__u32 id = (e->turn + i) % BH_MAX_COMPARTMENTS;

		if (!e->ways[id])
			continue;
		if (way_is_urgent(e->ways[id]))
			return id;
		if (!found && way_due(e->ways[id]) != SAY_NOTHING)
			found = id;
	}
	return found;
}

/* One that hangs while nothing is asked of it would keep members waiting. */
static bool say_ping(const struct egress *e, struct relay_ask *ret)
{
	*ret = (struct relay_ask){.message = e->unheard ? json_pack("{s:s}", "do", "ping") : NULL};
	return ret->message;
}

static bool on_next(void *data, struct relay_ask *ret)
{
	struct egress *e = data;

	e->asked_id = e->configured ? next_way(e) : 0;
	if (e->asked_id) {
		e->turn = e->asked_id;
		e->asked = way_say(e->ways[e->asked_id], &e->question, ret);
	} else {
		e->asked = e->configured ? say_ping(e, ret) : say_configure(e, ret);
	}
	return e->asked;
}

static void lead(struct egress *e, struct way *way, struct net *net)
{
	const struct address_block *range = &e->config->rules.synthetic;
	struct bh_outlet outlet = {
		.serial = way->of.serial,
		.netmask = htonl(~0u << (32 - range->length)),
		.relay = net->outlet.relay_port,
		.stub4 = net->outlet.stub4_port,
		.stub6 = net->outlet.stub6_port,
	};
	char why[WAY_WHY_SIZE];
	int r;

	memcpy(&outlet.synthetic, range->address.bytes, sizeof(outlet.synthetic));
	r = kern_outlet_set(e->daemon->kern, way->compartment, net->outlet.cookie, &outlet);
	snprintf(why, sizeof(why), "%s%s", r ? "the kernel does not lead to its outlet: " : "",
		 r ? strerror(-r) : "");
	if (r && strcmp(why, net->why) != 0)
		log_warning("compartment %s: %s", way->name, why);
	memcpy(net->why, why, sizeof(net->why));
	/* The relay has the sockets: they stay, and the next round tries again. */
	net->state = r ? NET_TOLD : NET_SET;
}

static void lead_again(struct egress *e, struct way *way)
{
	for (size_t i = 0; i < way->nnets; i++)
		if (way->nets[i].state == NET_TOLD)
			lead(e, way, &way->nets[i]);
}

/* What it must do and does not is no relay's any more: what was taken away would go on. */
static bool is_needed(const struct way *way, enum saying saying)
{
	return saying == SAY_REVOKE || saying == SAY_CLOSE ||
	       (saying == SAY_LIST && way->had_list) || (saying == SAY_GRANT && way->granted);
}

/* False: it had to be done. */
static bool refused(struct egress *e, struct way *way, int code, const char *why)
{
	bool needed = is_needed(way, e->question.saying);
	char before[WAY_WHY_SIZE];

	memcpy(before, way->why, sizeof(before));
	way_refused(way, &e->question, code, why);
	/* It is tried again and again. */
	if (strcmp(before, way->why) != 0)
		log_warning("compartment %s: %s", way->name, way->why);
	/* A grant that is not in force is none. */
	if (e->question.saying == SAY_GRANT)
		forget_grant(e, way);
	return !needed;
}

static bool on_answered(void *data, int result, const char *why)
{
	struct egress *e = data;
	struct way *way = e->ways[e->asked_id];
	struct net *net;
	bool good = true;

	e->asked = e->unheard = false;
	if (!e->asked_id) {
		if (result)
			log_error("egress: the relay does not %s: %s",
				  e->configured ? "answer" : "take its configuration", why);
		e->configured = !result;
		return e->configured;
	}
	if (result)
		good = refused(e, way, result, why);
	else
		way_said(way, &e->question);
	net = way_net(way, e->question.netns);
	if (!result && e->question.saying == SAY_LISTEN && net && net->state == NET_TOLD)
		lead(e, way, net);
	/* There is room for another one. */
	if (e->question.saying == SAY_UNLISTEN)
		egress_soon(e->daemon);
	let_go(e, e->asked_id);
	requests_settle(e->daemon);
	return good;
}

static int on_heard(void *data, const json_t *message)
{
	return egress_heard(data, message);
}

static void on_died(void *data, const char *why)
{
	struct egress *e = data;

	e->configured = e->asked = false;
	/* First: what is led to a socket that nobody serves hangs, what is not is refused. */
	for (__u32 id = 1; id < BH_MAX_COMPARTMENTS; id++)
		if (e->ways[id])
			kern_outlets_clear(e->daemon->kern, id);
	kern_flows_clear(e->daemon->kern);
	for (__u32 id = 1; id < BH_MAX_COMPARTMENTS; id++) {
		if (!e->ways[id])
			continue;
		way_forgotten(e->ways[id]);
		let_go(e, id);
	}
	log_error("egress: the relay ended: %s; nothing leaves until the next one runs", why);
	egress_tell(e, NULL, "relay", "ended", why);
	requests_settle(e->daemon);
}

static int on_may_start(void *data, struct error *error)
{
	struct egress *e = data;
	int fd = kern_flows_fd(e->daemon->kern);

	if (fd < 0)
		return error_set(error, -fd, "the programs in force have no outlets: %s",
				 strerror(-fd));
	return range_check(&e->config->rules.synthetic, error);
}

/* --- rounds --- */

static bool has_ways(const struct egress *e)
{
	for (__u32 id = 1; id < BH_MAX_COMPARTMENTS; id++)
		if (e->ways[id])
			return true;
	return false;
}

static void look(struct egress *e)
{
	if (!e->config)
		return;
	for (__u32 id = 1; id < BH_MAX_COMPARTMENTS; id++)
		update(e, id);
	arm_expiry(e);
	/* One that was started stays: the next compartment need not wait for it. */
	if (has_ways(e))
		relay_want(e->relay, true);
	relay_poke(e->relay);
	requests_settle(e->daemon);
}

static int on_look(sd_event_source *source _unused_, uint64_t usec _unused_, void *data)
{
	look(data);
	return 0;
}

void egress_soon(struct daemon *d)
{
	if (d->egress && d->egress->config)
		timer_arm_by(d->egress->look_timer, 0);
}

void egress_tick(struct daemon *d)
{
	struct egress *e = d->egress;

	if (!e || !e->config)
		return;
	egress_fence_look(e);
	e->unheard = true;
	for (__u32 id = 1; id < BH_MAX_COMPARTMENTS; id++) {
		if (!e->ways[id])
			continue;
		e->ways[id]->stalled = false;
		if (!e->ways[id]->ended)
			lead_again(e, e->ways[id]);
	}
	look(e);
}

int egress_check(struct daemon *d, struct error *error)
{
	const struct egress *e = d->egress;

	if (!e || !e->config)
		return error_set(error, EOPNOTSUPP, "%s", e ? e->off : "no agent serves egress");
	return range_check(&e->config->rules.synthetic, error);
}

struct way *egress_way(struct daemon *d, __u32 compartment)
{
	struct way *way = d->egress && compartment < BH_MAX_COMPARTMENTS
				  ? d->egress->ways[compartment]
				  : NULL;

	return way && !way->ended ? way : NULL;
}

/* --- beginning and end --- */

static const char *relay_user(void)
{
	return getpwnam(EGRESS_USER) ? EGRESS_USER : "nobody";
}

/* Beside the agent's own program. */
static const char *relay_program(void)
{
	static char path[PATH_MAX + sizeof(EGRESS_PROGRAM)];
	const char *asked = secure_getenv("BULKHEAD_EGRESSD");
	ssize_t n;
	char *slash;

	if (asked && *asked)
		return asked;
	n = readlink("/proc/self/exe", path, PATH_MAX);
	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, EGRESS_PROGRAM);
	return path;
}

static bool is_known_serial(void *data, __u64 serial)
{
	struct egress *e = data;
	struct bh_compartment now;

	for (__u32 id = 1; id < BH_MAX_COMPARTMENTS; id++)
		if (kern_compartment_get(e->daemon->kern, id, &now) == 0 && now.serial == serial)
			return true;
	return false;
}

static int make_relay(struct egress *e, struct error *error)
{
	const struct relay_options options = {
		.program = e->program,
		.user = relay_user(),
		.cgroup = e->fence,
		.answer_ms = EGRESS_ANSWER_MS,
		.pause_ms = EGRESS_PAUSE_MS,
		.pause_max_ms = EGRESS_PAUSE_MAX_MS,
		.steady_ms = EGRESS_STEADY_MS,
		.data = e,
		.may_start = on_may_start,
		.next = on_next,
		.answered = on_answered,
		.heard = on_heard,
		.died = on_died,
	};
	int r = relay_new(e->daemon->event, &options, &e->relay);

	if (r >= 0)
		r = sd_event_add_time(e->daemon->event, &e->look_timer, CLOCK_MONOTONIC, now_us(),
				      1000, on_look, e);
	if (r >= 0)
		r = sd_event_add_time(e->daemon->event, &e->expiry_timer, CLOCK_BOOTTIME, 0, 1000,
				      on_expiry, e);
	if (r < 0)
		return error_set(error, -r, "event loop: %s", strerror(-r));
	return sd_event_source_set_enabled(e->expiry_timer, SD_EVENT_OFF);
}

/* A configuration that does not load keeps nobody from being confined: nothing leaves, and who lists destinations is told
 * why. */
static int turn_on(struct egress *e, const char *path, struct error *error)
{
	struct error why = {0};
	int r = egress_config_load(path, &e->config, &why);

	snprintf(e->off, sizeof(e->off), "%s", why.text);
	if (r && r != -ENOENT)
		log_error("egress is off: %s", why.text);
	if (r)
		return 0;
	if (mkdir(e->directory, 0700) && errno != EEXIST)
		return error_set(error, errno, "%s: %s", e->directory, strerror(errno));
	r = kept_boot(e->boot);
	if (r)
		return error_set(error, -r, "boot_id: %s", strerror(-r));
	kept_sweep(e->directory, is_known_serial, e);
	/* Connections that an earlier relay did not take. */
	kern_flows_clear(e->daemon->kern);
	if (egress_fence(e, &why)) {
		log_error("egress is off: %s", why.text);
		snprintf(e->off, sizeof(e->off), "%s", why.text);
		egress_config_free(e->config);
		e->config = NULL;
		return 0;
	}
	return make_relay(e, error);
}

/* Led where no relay is any more, since an agent before this one. */
static void clear_all(struct daemon *d)
{
	for (__u32 id = 1; id < BH_MAX_COMPARTMENTS; id++)
		if (d->entries[id].record)
			kern_outlets_clear(d->kern, id);
}

int egress_start(struct daemon *d, const struct egress_options *options, struct error *error)
{
	d->egress = calloc(1, sizeof(*d->egress));
	if (!d->egress)
		return error_set(error, ENOMEM, "out of memory");
	d->egress->daemon = d;
	d->egress->directory = options->directory ?: EGRESS_DIR;
	d->egress->program = options->program ?: relay_program();
	clear_all(d);
	return turn_on(d->egress, options->config ?: EGRESS_CONFIG, error);
}

void egress_stop(struct daemon *d)
{
	struct egress *e = d->egress;

	if (!e)
		return;
	d->egress = NULL;
	/* First, as where the relay dies: what it is not there for is refused. */
	for (__u32 id = 1; id < BH_MAX_COMPARTMENTS; id++)
		if (e->ways[id])
			kern_outlets_clear(d->kern, id);
	relay_free(e->relay);
	for (__u32 id = 1; id < BH_MAX_COMPARTMENTS; id++)
		way_free(e->ways[id]);
	egress_fence_end(e);
	sd_event_source_disable_unref(e->look_timer);
	sd_event_source_disable_unref(e->expiry_timer);
	egress_config_free(e->config);
	free(e);
}
