// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The agent's side of egress as a whole: a compartment that lists destinations gets its outlets, grants and revocations
 * reach the relay, and whatever dies or goes, nothing is left open. The relay is this program, the kernel a few
 * variables, members are children in network namespaces of their own.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "base/clock.h"
#include "daemon/client.h"
#include "daemon/egress.h"
#include "fake_relay.h"
#include "netns.h"
#include "tree.h"

#define WAIT_US 20000000ull
#define ID 3
#define CGROUP "/inside"
#define MAX_MEMBERS (WAY_MAX_NETS + 4)

/* --- the kernel --- */

static struct {
	struct bh_compartment entry;
	bool there;
	struct {
		__u64 netns;
		struct bh_outlet outlet;
	} led[2 * WAY_MAX_NETS];
	size_t nled;
	unsigned int marked, cleared;
	int set_result;
	pid_t members[MAX_MEMBERS];
	size_t nmembers;
} kernel;

int __wrap_cgroup_own_get(const char *name, char **ret, struct error *error);
int __wrap_cgroup_own_get(const char *name _unused_, char **ret, struct error *error _unused_)
{
	*ret = NULL;
	return 0;
}

int __wrap_kern_fence_fill(struct kern *kern, const struct address_rules *rules,
			   const struct kern_resolver *resolvers, size_t n);
int __wrap_kern_fence_fill(struct kern *kern _unused_, const struct address_rules *rules _unused_,
			   const struct kern_resolver *resolvers, size_t n)
{
	assert_true(n > 0 && resolvers[0].port > 0);
	return 0;
}

int __wrap_kern_fence_attach(struct kern *kern, const char *path, struct error *error);
int __wrap_kern_fence_attach(struct kern *kern _unused_, const char *path _unused_,
			     struct error *error _unused_)
{
	return 0;
}

int __wrap_kern_fence_refused(struct kern *kern, __u64 *ret);
int __wrap_kern_fence_refused(struct kern *kern _unused_, __u64 *ret)
{
	*ret = 0;
	return 0;
}

int __wrap_kern_flows_clear(struct kern *kern);
int __wrap_kern_flows_clear(struct kern *kern _unused_)
{
	return 0;
}

int __wrap_kern_outlet_set(struct kern *kern, __u32 compartment, __u64 netns,
			   const struct bh_outlet *outlet);
int __wrap_kern_outlet_set(struct kern *kern _unused_, __u32 compartment, __u64 netns,
			   const struct bh_outlet *outlet)
{
	assert_int_equal(compartment, ID);
	if (kernel.set_result)
		return kernel.set_result;
	kernel.led[kernel.nled].netns = netns;
	kernel.led[kernel.nled++].outlet = *outlet;
	return 0;
}

int __wrap_kern_outlet_unset(struct kern *kern, __u32 compartment, __u64 netns);
int __wrap_kern_outlet_unset(struct kern *kern _unused_, __u32 compartment _unused_, __u64 netns)
{
	for (size_t i = 0; i < kernel.nled; i++)
		if (kernel.led[i].netns == netns)
			kernel.led[i--] = kernel.led[--kernel.nled];
	return 0;
}

int __wrap_kern_outlets_clear(struct kern *kern, __u32 compartment);
int __wrap_kern_outlets_clear(struct kern *kern _unused_, __u32 compartment _unused_)
{
	kernel.nled = 0;
	kernel.cleared++;
	return 0;
}

int __wrap_kern_flows_fd(struct kern *kern);
int __wrap_kern_flows_fd(struct kern *kern _unused_)
{
	return STDERR_FILENO;
}

int __wrap_kern_outlet_mark(struct kern *kern, int fd, __u32 compartment, __u64 serial);
int __wrap_kern_outlet_mark(struct kern *kern _unused_, int fd _unused_, __u32 compartment,
			    __u64 serial)
{
	assert_int_equal(compartment, ID);
	assert_int_equal(serial, kernel.entry.serial);
	kernel.marked++;
	return 0;
}

int __wrap_kern_compartment_get(struct kern *kern, __u32 id, struct bh_compartment *ret);
int __wrap_kern_compartment_get(struct kern *kern _unused_, __u32 id, struct bh_compartment *ret)
{
	if (id != ID || !kernel.there)
		return -ENOENT;
	*ret = kernel.entry;
	return 0;
}

int __wrap_cgroup_pids(const char *path, pid_t **ret, size_t *ret_n);
int __wrap_cgroup_pids(const char *path, pid_t **ret, size_t *ret_n)
{
	assert_string_equal(path, CGROUP);
	*ret = calloc(MAX_MEMBERS, sizeof(pid_t));
	memcpy(*ret, kernel.members, sizeof(kernel.members));
	*ret_n = kernel.nmembers;
	return 0;
}

int __wrap_cgroup_of_pid(pid_t pid, char **ret);
int __wrap_cgroup_of_pid(pid_t pid _unused_, char **ret)
{
	*ret = strdup(CGROUP);
	return 0;
}

/* --- members --- */

static void raise_lo(void)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (ioctl(fd, SIOCSIFFLAGS, &request))
		_exit(1);
	close(fd);
}

static void add_member(bool up)
{
	int ready[2];
	char byte;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	kernel.members[kernel.nmembers] = fork();
	if (!kernel.members[kernel.nmembers]) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(CLONE_NEWNET))
			_exit(1);
		if (up)
			raise_lo();
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	kernel.nmembers++;
}

static void end_members(void)
{
	for (; kernel.nmembers; kernel.nmembers--) {
		kill(kernel.members[kernel.nmembers - 1], SIGKILL);
		waitpid(kernel.members[kernel.nmembers - 1], NULL, 0);
	}
}

/* --- the agent --- */

struct world {
	struct daemon d;
	int netns; /* before */
	char directory[64], config[128], program[PATH_MAX], events[128];
	struct policy_destination destinations[2];
};

static void name_destination(struct policy_destination *d, const char *text)
{
	struct destination_fault fault;

	*d = (struct policy_destination){.max_upload = 1000, .tls = true};
	assert_int_equal(destination_parse(text, strlen(text), &d->to, &fault), 0);
}

static struct compartment *make_record(struct world *w)
{
	struct compartment *c = compartment_new();
	char digest[POLICY_DIGEST_SIZE];

	assert_non_null(c);
	c->id = ID;
	c->generation = 5;
	c->cgroup_id = 99;
	free(c->name);
	free(c->cgroup);
	free(c->digest);
	c->name = strdup("codex");
	c->cgroup = strdup(CGROUP);
	c->loaded = calloc(1, sizeof(*c->loaded));
	c->loaded->egress = w->destinations;
	c->loaded->negress = 2;
	c->digest = strdup(policy_digest_text(c->loaded, digest));
	return c;
}

static void drop_record(struct world *w)
{
	struct compartment *c = w->d.entries[ID].record;

	if (!c)
		return;
	/* The array is the world's. */
	c->loaded->egress = NULL;
	c->loaded->negress = 0;
	compartment_free(c);
	w->d.entries[ID].record = NULL;
}

static void begin_agent(struct world *w, const char *behaviour)
{
	const struct egress_options options = {
		.config = w->config, .directory = w->directory, .program = w->program};
	struct error error = {0};
	char own[PATH_MAX] = "";

	snprintf(w->program, sizeof(w->program), "%s/relay=%s", w->directory, behaviour);
	assert_true(readlink("/proc/self/exe", own, sizeof(own) - 1) > 0);
	assert_int_equal(symlink(own, w->program), 0);
	if (egress_start(&w->d, &options, &error))
		fail_msg("%s", error.text);
}

static int open_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	memset(&kernel, 0, sizeof(kernel));
	kernel.there = true;
	kernel.entry =
		(struct bh_compartment){.serial = 77, .generation = 5, .state = BH_STATE_ENFORCED};
	strcpy(w->directory, "/tmp/bulkhead-ways-XXXXXX");
	assert_non_null(mkdtemp(w->directory));
	snprintf(w->config, sizeof(w->config), "%s/config.yaml", w->directory);
	snprintf(w->events, sizeof(w->events), "%s/events", w->directory);
	write_bytes(w->config, "upstreams: [9.9.9.9]\n", 21);
	chmod(w->config, 0644);
	assert_int_equal(sink_open(w->events, 1 << 20, (gid_t)-1, &w->d.sink), 0);
	assert_true(sd_event_new(&w->d.event) >= 0);
	name_destination(&w->destinations[0], "api.example.com:443");
	name_destination(&w->destinations[1], "*.files.example.com:443,8443");
	w->d.entries[ID].record = make_record(w);
	/* Without the host's routes, and without a loopback interface that is up. */
	w->netns = -1;
	if (geteuid() == 0) {
		w->netns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
		assert_int_equal(unshare(CLONE_NEWNET), 0);
	}
	*state = w;
	return 0;
}

static int close_world(void **state)
{
	struct world *w = *state;

	end_members();
	while (w->d.clients)
		client_free(w->d.clients);
	egress_stop(&w->d);
	drop_record(w);
	sink_close(w->d.sink);
	sd_event_unref(w->d.event);
	if (w->netns >= 0)
		netns_leave(&w->netns);
	tree_remove(w->directory);
	free(w);
	return 0;
}

/* Only root makes network namespaces. */
#define NEED_ROOT(w)                \
	do {                        \
		if ((w)->netns < 0) \
			skip();     \
	} while (0)

static void turn(struct world *w)
{
	assert_true(sd_event_run(w->d.event, 20000) >= 0);
}

#define UNTIL(w, condition)                               \
	do {                                              \
		uint64_t until_ = clock_us() + WAIT_US;   \
		while (!(condition)) {                    \
			assert_true(clock_us() < until_); \
			turn(w);                          \
		}                                         \
	} while (0)

static struct way *way_of(struct world *w)
{
	return egress_way(&w->d, ID);
}

static bool is_open(struct world *w)
{
	return way_of(w) && way_is_open(way_of(w));
}

/* Of all records so far, those that have this text. */
static unsigned int count_events(struct world *w, const char *text)
{
	_cleanup_fclose_ FILE *file = fopen(w->events, "re");
	char line[4096];
	unsigned int n = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		n += strstr(line, text) != NULL;
	return n;
}

/* --- requests --- */

static int connect_as_root(struct world *w)
{
	struct peer peer = {.pidfd = -1, .pid = getpid(), .right = RIGHT_CHANGE};
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_non_null(client_new(&w->d, fds[0], &peer));
	return fds[1];
}

/* Its answer; NULL: none yet. */
static json_t *read_answer(int fd)
{
	char text[8192];
	ssize_t n = recv(fd, text, sizeof(text), MSG_DONTWAIT);

	return n > 0 ? json_loadb(text, (size_t)n, 0, NULL) : NULL;
}

static json_t *ask(struct world *w, const char *request)
{
	_cleanup_close_ int fd = connect_as_root(w);
	json_t *answer = NULL;

	assert_int_equal(send(fd, request, strlen(request), 0), strlen(request));
	UNTIL(w, (answer = read_answer(fd)));
	return answer;
}

/* True: it was done; else *error says why not. */
static bool do_it(struct world *w, const char *request, char *error, size_t size)
{
	json_t *answer = ask(w, request);
	bool ok = json_is_true(json_object_get(answer, "ok"));

	snprintf(error, size, "%s", json_string_value(json_object_get(answer, "error")) ?: "");
	json_decref(answer);
	return ok;
}

#define GRANT "{\"request\":\"grant\",\"target\":\"codex\",\"what\":\"egress\"}\n"
#define GRANT_FOR(ms) \
	"{\"request\":\"grant\",\"target\":\"codex\",\"what\":\"egress\",\"for_ms\":" #ms "}\n"
#define GRANT_ONLY(name)                                                                           \
	"{\"request\":\"grant\",\"target\":\"codex\",\"what\":\"egress\",\"only\":[\"" name "\"]}" \
	"\n"
#define REVOKE "{\"request\":\"revoke\",\"target\":\"codex\",\"what\":\"egress\"}\n"
#define OUTLETS "{\"request\":\"outlets\",\"cgroup\":\"" CGROUP "\"}\n"

static void must(struct world *w, const char *request)
{
	char error[512];

	if (!do_it(w, request, error, sizeof(error)))
		fail_msg("%s%s", request, error);
}

static void must_not(struct world *w, const char *request, const char *why)
{
	char error[512];

	assert_false(do_it(w, request, error, sizeof(error)));
	if (!strstr(error, why))
		fail_msg("%s%s", request, error);
}

/* --- cases --- */

static void check_led(struct world *w, size_t i)
{
	const struct bh_outlet *outlet = &kernel.led[i].outlet;

	assert_int_equal(outlet->serial, 77);
	assert_int_equal(ntohl(outlet->synthetic), 0xc6120000);
	assert_int_equal(ntohl(outlet->netmask), 0xfffe0000);
	assert_true(outlet->relay && outlet->stub4 && kernel.led[i].netns);
	assert_int_equal(way_of(w)->nets[i].outlet.cookie, kernel.led[i].netns);
}

/* Sockets in the members' namespace, told to the relay, then led to; the agent stays where it is. */
static void test_open(void **state)
{
	struct world *w = *state;
	char before[64] = "", after[64] = "";

	NEED_ROOT(w);
	assert_true(readlink("/proc/self/ns/net", before, sizeof(before) - 1) > 0);
	add_member(true);
	begin_agent(w, "good");
	UNTIL(w, is_open(w));
	assert_int_equal(kernel.nled, 1);
	assert_int_equal(kernel.marked, 3);
	check_led(w, 0);
	assert_true(readlink("/proc/self/ns/net", after, sizeof(after) - 1) > 0);
	assert_string_equal(before, after);
	/* A second round makes nothing anew; a member in another namespace gets its own. */
	egress_tick(&w->d);
	turn(w);
	assert_int_equal(kernel.marked, 3);
	add_member(true);
	egress_tick(&w->d);
	UNTIL(w, kernel.nled == 2 && is_open(w));
	check_led(w, 1);
	assert_true(kernel.led[0].netns != kernel.led[1].netns);
}

/* Nothing is granted until somebody does; then it is kept, and taken back. */
static void test_grant(void **state)
{
	struct world *w = *state;
	char kept[128];

	NEED_ROOT(w);
	snprintf(kept, sizeof(kept), "%s/77.grant", w->directory);
	add_member(true);
	begin_agent(w, "good");
	must(w, OUTLETS);
	assert_true(is_open(w));
	assert_false(way_of(w)->granted);
	must(w, GRANT);
	assert_true(way_of(w)->granted);
	assert_int_equal(access(kept, F_OK), 0);
	must(w, GRANT_ONLY("api.example.com"));
	must(w, GRANT_ONLY("a.files.example.com"));
	assert_string_equal(way_of(w)->grant.only[0], "a.files.example.com");
	must_not(w, GRANT_ONLY("b.a.files.example.com"), "its policy does not list it");
	must_not(w, GRANT_ONLY("*.example.com"), "its policy does not list it");
	must_not(w, GRANT_ONLY("*.api.example.com"), "its policy does not list it");
	must_not(w, GRANT_ONLY("*."), "is no name");
	must_not(w, GRANT_ONLY(""), "is no name");
	must_not(w, GRANT_FOR(0), "for_ms");
	must_not(w, GRANT_FOR(-5), "for_ms");
	/* What was refused changed nothing. */
	assert_string_equal(way_of(w)->grant.only[0], "a.files.example.com");
	must(w, GRANT_ONLY("*.files.example.com"));
	must(w, REVOKE);
	assert_false(way_of(w)->granted || way_of(w)->grant.given);
	assert_int_equal(access(kept, F_OK), -1);
	must(w, REVOKE);
	assert_int_equal(count_events(w, "\"request\":\"grant\""), 11);
	assert_int_equal(count_events(w, "\"request\":\"revoke\""), 2);
	assert_int_equal(count_events(w, "\"only\":[\"api.example.com\"]"), 1);
}

/* Where nothing can be counted nothing is opened, and who asks is told. A grant counts anew, an agent does not. */
static void test_counted(void **state)
{
	struct world *w = *state;
	char kept[128], blocked[140];
	struct stat before, after;
	uint64_t lease;

	NEED_ROOT(w);
	snprintf(kept, sizeof(kept), "%s/77.spent", w->directory);
	snprintf(blocked, sizeof(blocked), "%s.new", kept);
	assert_int_equal(mkdir(blocked, 0700), 0);
	add_member(true);
	begin_agent(w, "good");
	must_not(w, GRANT, "77.spent, where uploads are counted: Is a directory");
	assert_false(way_of(w)->opened);
	assert_int_equal(kernel.nled, 0);
	assert_int_equal(rmdir(blocked), 0);
	must(w, GRANT);
	lease = way_of(w)->grant.lease;
	assert_true(lease > 0);
	assert_int_equal(stat(kept, &before), 0);
	egress_stop(&w->d);
	begin_agent(w, "refuses-nothing");
	UNTIL(w, is_open(w));
	assert_true(way_of(w)->granted);
	assert_true(way_of(w)->grant.lease == lease);
	assert_int_equal(stat(kept, &after), 0);
	assert_true(before.st_ino == after.st_ino);
	must(w, GRANT);
	assert_true(way_of(w)->grant.lease > lease);
	must(w, REVOKE);
	assert_int_equal(access(kept, F_OK), 0);
}

static void test_expiry(void **state)
{
	struct world *w = *state;

	NEED_ROOT(w);
	add_member(true);
	begin_agent(w, "good");
	must(w, GRANT_FOR(300));
	assert_true(way_of(w)->granted);
	UNTIL(w, !way_of(w)->granted);
	assert_false(way_of(w)->grant.given);
	assert_int_equal(count_events(w, "\"outcome\":\"expired\""), 1);
}

/* Outlets go before anything else, and all of it is said to the next one. */
static void test_relay_dies(void **state)
{
	struct world *w = *state;
	unsigned int cleared;
	pid_t first;

	NEED_ROOT(w);
	add_member(true);
	begin_agent(w, "good");
	must(w, GRANT);
	first = relay_pid(w->d.egress->relay);
	cleared = kernel.cleared;
	kill(first, SIGKILL);
	UNTIL(w, relay_deaths(w->d.egress->relay) == 1);
	assert_int_equal(kernel.nled, 0);
	assert_true(kernel.cleared > cleared);
	assert_false(way_of(w)->granted);
	assert_int_equal(count_events(w, "\"what\":\"relay\""), 1);
	/* The grant stands: it is the operator's. */
	UNTIL(w, is_open(w) && way_of(w)->granted);
	assert_int_equal(kernel.nled, 1);
	assert_true(relay_pid(w->d.egress->relay) != first);
}

/* One that does not answer: who granted is told that the grant stands. */
static void test_relay_mute(void **state)
{
	struct world *w = *state;

	NEED_ROOT(w);
	add_member(true);
	begin_agent(w, "mute-grant");
	must_not(w, GRANT, "it did not answer in time: killed; the grant stands");
	assert_true(way_of(w)->grant.given);
	must(w, REVOKE);
	assert_false(way_of(w)->grant.given);
}

/* One that hangs is killed by the agent: a revocation does not wait for it. */
static void test_relay_stops(void **state)
{
	struct world *w = *state;

	NEED_ROOT(w);
	add_member(true);
	begin_agent(w, "stops-revoke");
	must(w, GRANT);
	must(w, REVOKE);
	assert_int_equal(relay_deaths(w->d.egress->relay), 1);
	assert_false(way_of(w)->granted);
}

/* Nor does anybody have to ask something of it. */
static void test_relay_hangs(void **state)
{
	struct world *w = *state;

	NEED_ROOT(w);
	add_member(true);
	begin_agent(w, "good");
	must(w, GRANT);
	egress_tick(&w->d);
	UNTIL(w, !w->d.egress->unheard);
	kill(relay_pid(w->d.egress->relay), SIGSTOP);
	egress_tick(&w->d);
	UNTIL(w, relay_deaths(w->d.egress->relay) == 1);
	UNTIL(w, is_open(w) && way_of(w)->granted);
}

/* Who waits for outlets waits for the next relay. */
static void test_waits_for_relay(void **state)
{
	struct world *w = *state;

	NEED_ROOT(w);
	add_member(true);
	begin_agent(w, "good");
	must(w, OUTLETS);
	kill(relay_pid(w->d.egress->relay), SIGKILL);
	UNTIL(w, relay_deaths(w->d.egress->relay) == 1);
	assert_false(is_open(w));
	must(w, OUTLETS);
	assert_true(is_open(w));
}

/* Unless that is too late; then it is told when, and does not wait in vain. */
static void test_relay_dies_and_dies(void **state)
{
	struct world *w = *state;
	uint64_t began = clock_us();

	NEED_ROOT(w);
	add_member(true);
	begin_agent(w, "dies-listen");
	must_not(w, OUTLETS,
		 "the relay does not run: it exited with status 3: see its log; it is started "
		 "again in ");
	assert_in_range(clock_us() - began, 1000000, CONTROL_LATER_MS * 1000);
	assert_true(relay_deaths(w->d.egress->relay) > 3);
}

static void test_outlets_overdue(void **state)
{
	static const char request[] = OUTLETS;
	struct world *w = *state;
	json_t *answer = NULL;
	int fd;

	NEED_ROOT(w);
	add_member(true);
	begin_agent(w, "mute-listen");
	fd = connect_as_root(w);
	assert_int_equal(send(fd, request, strlen(request), 0), strlen(request));
	UNTIL(w, w->d.clients->later);
	request_overdue(w->d.clients);
	UNTIL(w, (answer = read_answer(fd)));
	assert_string_equal(json_string_value(json_object_get(answer, "error")),
			    "codex: not there after 15 s: it is starting: see bulkhead status and "
			    "the agent's log");
	json_decref(answer);
	close(fd);
}

/* What must be done and is refused ends the relay. */
static void test_relay_refuses(void **state)
{
	struct world *w = *state;

	NEED_ROOT(w);
	add_member(true);
	begin_agent(w, "refuses-revoke");
	must(w, GRANT);
	must(w, REVOKE);
	assert_int_equal(relay_deaths(w->d.egress->relay), 1);
	UNTIL(w, is_open(w));
	assert_false(way_of(w)->granted);
}

/* A grant that the relay does not take is none, and says so. */
static void test_grant_refused(void **state)
{
	struct world *w = *state;

	NEED_ROOT(w);
	add_member(true);
	begin_agent(w, "refuses-grant");
	must_not(w, GRANT, "the relay refuses to grant: it does not want");
	assert_false(way_of(w)->grant.given || way_of(w)->granted);
}

/* What it does not listen at, nobody is led to. */
static void test_listen_refused(void **state)
{
	struct world *w = *state;

	NEED_ROOT(w);
	add_member(true);
	begin_agent(w, "refuses-listen");
	must_not(w, OUTLETS, "the relay refuses to listen");
	assert_int_equal(kernel.nled, 0);
}

/* The list of an older policy must not stay: a relay that does not take the new one ends. */
static void test_list_refused(void **state)
{
	struct world *w = *state;

	NEED_ROOT(w);
	add_member(true);
	begin_agent(w, "again-list");
	must(w, OUTLETS);
	w->d.entries[ID].record->loaded->negress = 1;
	egress_tick(&w->d);
	UNTIL(w, relay_deaths(w->d.egress->relay) == 1);
	assert_int_equal(kernel.nled, 0);
	assert_string_equal(relay_why(w->d.egress->relay),
			    "it does not do what must be done: killed");
	/* The next one knows no other. */
	UNTIL(w, is_open(w));
}

/* What is said of it when the entries are. */
static void check_said_proxy(struct world *w, bool wanted)
{
	struct way_question question;
	struct relay_ask ask;
	bool listed = way_of(w)->listed;

	way_of(w)->listed = false;
	assert_true(way_say(way_of(w), &question, &ask));
	assert_int_equal(question.saying, SAY_LIST);
	assert_int_equal(json_is_true(json_object_get(ask.message, "proxy")), wanted);
	json_decref(ask.message);
	way_of(w)->listed = listed;
}

static void test_list_changes(void **state)
{
	struct world *w = *state;
	struct compartment *c = w->d.entries[ID].record;

	NEED_ROOT(w);
	add_member(true);
	begin_agent(w, "good");
	must(w, OUTLETS);
	c->loaded->negress = 1;
	egress_tick(&w->d);
	assert_false(way_of(w)->listed);
	UNTIL(w, is_open(w));
	assert_int_equal(json_array_size(way_of(w)->entries), 1);
	/* So does a proxy that is wanted now, of the same entries. */
	check_said_proxy(w, false);
	c->loaded->proxy = true;
	egress_tick(&w->d);
	assert_false(way_of(w)->listed);
	check_said_proxy(w, true);
	UNTIL(w, is_open(w));
	egress_tick(&w->d);
	assert_true(way_of(w)->listed);
	/* And one that lists nothing any more has no way out. */
	c->loaded->negress = 0;
	egress_tick(&w->d);
	assert_int_equal(kernel.nled, 0);
	UNTIL(w, !w->d.egress->ways[ID]);
}

/* The kernel does not lead there. */
static void test_set_refused(void **state)
{
	struct world *w = *state;

	NEED_ROOT(w);
	kernel.set_result = -ENOSPC;
	add_member(true);
	begin_agent(w, "good");
	must_not(w, OUTLETS, "the kernel does not lead to its outlet: No space left on device");
	assert_int_equal(kernel.marked, 3);
	kernel.set_result = 0;
	must(w, OUTLETS);
	assert_int_equal(kernel.nled, 1);
	/* By the sockets that the relay has. */
	assert_int_equal(kernel.marked, 3);
}

static void test_lo_down(void **state)
{
	struct world *w = *state;

	NEED_ROOT(w);
	add_member(false);
	begin_agent(w, "good");
	must_not(w, OUTLETS, "its loopback interface is down");
	assert_int_equal(kernel.nled, 0);
	/* Another member's namespace is none the worse for it. */
	add_member(true);
	egress_tick(&w->d);
	UNTIL(w, kernel.nled == 1);
}

/* It is kept, checked, and adopted by the relay of the next agent; so is the grant. */
static void test_agent_restarts(void **state)
{
	struct world *w = *state;

	NEED_ROOT(w);
	add_member(true);
	begin_agent(w, "tells-list");
	must(w, GRANT_FOR(600000));
	UNTIL(w, count_events(w, "\"kind\":\"lost\",") == 1);
	assert_int_equal(way_of(w)->names.n, 1);
	/* What a member made up is no terminal's business. */
	assert_int_equal(count_events(w, "\"destination\":\"evil\\\\x1b.example\""), 1);
	assert_int_equal(count_events(w, "\"compartment\":3,\"name\":\"codex\",\"what\""), 0);
	egress_stop(&w->d);
	assert_int_equal(kernel.nled, 0);
	begin_agent(w, "tells-adopt");
	UNTIL(w, is_open(w) && way_of(w)->granted);
	assert_int_equal(way_of(w)->names.n, 1);
	assert_string_equal(way_of(w)->names.names[0].name, "api.example.com");
	assert_int_equal(count_events(w, "\"what\":\"query\""), 2);
	assert_true(grant_left_ms(&way_of(w)->grant) <= 600000);
}

/* Names that the relay does not adopt are forgotten: it gives them other addresses. */
static void test_adopt_refused(void **state)
{
	struct world *w = *state;

	NEED_ROOT(w);
	add_member(true);
	begin_agent(w, "tells-list");
	must(w, OUTLETS);
	assert_int_equal(way_of(w)->names.n, 1);
	egress_stop(&w->d);
	begin_agent(w, "refuses-adopt");
	must(w, OUTLETS);
	assert_int_equal(way_of(w)->names.n, 0);
	assert_int_equal(relay_deaths(w->d.egress->relay), 0);
}

/* Another compartment of the same number gets nothing of it. */
static void test_gone(void **state)
{
	struct world *w = *state;
	char kept[128];

	NEED_ROOT(w);
	snprintf(kept, sizeof(kept), "%s/77", w->directory);
	add_member(true);
	begin_agent(w, "good");
	must(w, GRANT);
	assert_int_equal(access(kept, F_OK), 0);
	kernel.entry.serial = 78;
	egress_tick(&w->d);
	assert_int_equal(kernel.nled, 0);
	assert_int_equal(access(kept, F_OK), -1);
	UNTIL(w, is_open(w));
	assert_int_equal(way_of(w)->of.serial, 78);
	assert_false(way_of(w)->grant.given || way_of(w)->granted);
	kernel.entry.state = BH_STATE_RELEASED;
	egress_tick(&w->d);
	assert_int_equal(kernel.nled, 0);
	UNTIL(w, !w->d.egress->ways[ID]);
	kernel.there = false;
	must_not(w, GRANT, "no such compartment");
}

/* Who names what is not there is told what it was, and where to look. */
static void test_nobody(void **state)
{
	struct world *w = *state;

	begin_agent(w, "good");
	must_not(w, "{\"request\":\"reload\",\"target\":\"x\"}\n", "x: no such compartment: see ");
	must_not(
		w, "{\"request\":\"detach\",\"cgroup\":\"system.slice/x.service\"}\n",
		"system.slice/x.service: nothing is attached there: bulkhead status lists what is; "
		"a cgroup is named by its directory, as in /sys/fs/cgroup/");
	must_not(w, "{\"request\":\"detach\",\"cgroup\":\"/x\"}\n",
		 "/x: nothing is attached there: bulkhead status lists what is");
	must_not(w, "{\"request\":\"reload\",\"unit\":\"x.service\"}\n",
		 "x.service: nothing of this unit is attached: bulkhead status lists what is");
}

/* A policy whose text is not the one in force lists nothing. */
static void test_edited(void **state)
{
	struct world *w = *state;

	NEED_ROOT(w);
	w->d.entries[ID].record->digest[0] = 'f';
	add_member(true);
	begin_agent(w, "good");
	must_not(w, GRANT, "bulkhead reload 3");
	assert_null(way_of(w));
	assert_int_equal(relay_pid(w->d.egress->relay), 0);
}

/* Past the bound there is none; where others are gone there is again. */
static void test_crowd(void **state)
{
	struct world *w = *state;

	NEED_ROOT(w);
	for (int i = 0; i <= WAY_MAX_NETS; i++)
		add_member(true);
	begin_agent(w, "good");
	UNTIL(w, kernel.nled == WAY_MAX_NETS);
	assert_int_equal(count_events(w, "exhausted"), 1);
	UNTIL(w, is_open(w));
	end_members();
	add_member(true);
	egress_tick(&w->d);
	assert_int_equal(kernel.nled, 0);
	UNTIL(w, is_open(w));
	assert_int_equal(kernel.nled, 1);
	check_led(w, 0);
	assert_int_equal(relay_deaths(w->d.egress->relay), 0);
}

/* A namespace that its last member left is let go: after a while, with the relay's sockets, and nobody is cut. */
static void leave_net(struct world *w)
{
	end_members();
	add_member(true);
	egress_tick(&w->d);
	UNTIL(w, is_open(w) && kernel.nled == 2);
	assert_true(way_of(w)->nets[0].unseen_us > 0);
	way_of(w)->nets[0].unseen_us -= WAY_UNSEEN_US;
	egress_tick(&w->d);
	assert_int_equal(kernel.nled, 1);
}

static void test_left(void **state)
{
	struct world *w = *state;

	NEED_ROOT(w);
	add_member(true);
	begin_agent(w, "good");
	must(w, GRANT);
	leave_net(w);
	assert_int_equal(way_of(w)->nets[0].state, NET_GONE);
	assert_int_equal(way_due(way_of(w)), SAY_UNLISTEN);
	UNTIL(w, is_open(w) && way_of(w)->nnets == 1);
	check_led(w, 0);
	assert_true(way_of(w)->granted);
	assert_int_equal(relay_deaths(w->d.egress->relay), 0);
}

/* A relay that knows nothing of it is none the worse for it; one that dies of it knows nothing afterwards. */
static void test_left_refused(void **state)
{
	struct world *w = *state;

	NEED_ROOT(w);
	add_member(true);
	begin_agent(w, "refuses-unlisten");
	must(w, GRANT);
	leave_net(w);
	UNTIL(w, is_open(w) && way_of(w)->nnets == 1);
	assert_int_equal(relay_deaths(w->d.egress->relay), 0);
}

static void test_left_died(void **state)
{
	struct world *w = *state;

	NEED_ROOT(w);
	add_member(true);
	begin_agent(w, "dies-unlisten");
	must(w, GRANT);
	leave_net(w);
	UNTIL(w, relay_deaths(w->d.egress->relay) == 1);
	egress_tick(&w->d);
	UNTIL(w, is_open(w) && way_of(w)->nnets == 1);
	assert_int_equal(kernel.nled, 1);
}

/* Without a file nothing is served, and who asks is told what to write. */
static void test_off(void **state)
{
	struct world *w = *state;
	struct error error = {0};

	unlink(w->config);
	begin_agent(w, "good");
	assert_int_equal(egress_check(&w->d, &error), -EOPNOTSUPP);
	assert_non_null(strstr(error.text, "upstreams: [9.9.9.9]"));
	must_not(w, GRANT, "egress is off");
	egress_tick(&w->d);
	egress_soon(&w->d);
	assert_null(way_of(w));
}

/* One that is wrong turns it off, and says where. */
static void test_bad_config(void **state)
{
	struct world *w = *state;
	struct error error = {0};

	write_bytes(w->config, "upstreams: 9.9.9.9\n", 19);
	begin_agent(w, "good");
	assert_int_equal(egress_check(&w->d, &error), -EOPNOTSUPP);
	assert_non_null(strstr(error.text, "config.yaml:1:12: "));
}

/* A range that the host has a use for is none. */
static void test_range_taken(void **state)
{
	struct world *w = *state;
	struct error error = {0};

	NEED_ROOT(w);
	netns_set("link set lo up\nroute add 198.19.0.0/24 dev lo\n");
	begin_agent(w, "good");
	assert_int_equal(egress_check(&w->d, &error), -EADDRINUSE);
	must_not(w, GRANT, "198.19.0.0/24");
	turn(w);
	assert_int_equal(relay_pid(w->d.egress->relay), 0);
}

int main(int argc, char **argv)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)
	const struct CMUnitTest tests[] = {
		CASE(test_open),
		CASE(test_grant),
		CASE(test_counted),
		CASE(test_expiry),
		CASE(test_relay_dies),
		CASE(test_relay_stops),
		CASE(test_relay_mute),
		CASE(test_waits_for_relay),
		CASE(test_relay_dies_and_dies),
		CASE(test_outlets_overdue),
		CASE(test_relay_hangs),
		CASE(test_relay_refuses),
		CASE(test_grant_refused),
		CASE(test_listen_refused),
		CASE(test_list_refused),
		CASE(test_list_changes),
		CASE(test_set_refused),
		CASE(test_lo_down),
		CASE(test_agent_restarts),
		CASE(test_adopt_refused),
		CASE(test_gone),
		CASE(test_nobody),
		CASE(test_edited),
		CASE(test_left),
		CASE(test_left_refused),
		CASE(test_left_died),
		CASE(test_crowd),
		CASE(test_off),
		CASE(test_bad_config),
		CASE(test_range_taken),
	};

	fake_relay(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
