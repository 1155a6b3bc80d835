/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bulkhead-egressd as it runs, with a test as its agent and as the kernel side that writes down whose a connection is;
 * a resolver (nameserver.h) and a world behind a gateway (world.h), in which the test is the servers, too.
 */
#ifndef UNIT_EGRESSD_H
#define UNIT_EGRESSD_H

#include <errno.h>
#include <jansson.h>
#include <ldns/ldns.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <linux/bpf.h>
#include <bulkhead/abi.h>
#include "base/clock.h"
#include "egress/allowances.h"
#include "egress/channel.h"
#include "nameserver.h"
#include "netns.h"
#include "world.h"

#define WAIT_MS 20000
#define SERVER_PORT 8443
#define SYNTHETIC 0xc6120000u /* 198.18.0.0/15 */

struct scene {
	int before;
	pid_t world, nameserver, egressd;
	int channel; /* the agent's end */
	int map;
	__u64 netns;
	int server;	/* listens in the world */
	json_t *heard;	/* what was said unasked */
	json_t *answer; /* the last one */
};

/* One compartment's sockets, as egressd has them. */
struct ports {
	__u16 relay, stub4, stub6;
};

/* --- the kernel side --- */

static inline int flows_map(__u32 max_entries)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_HASH,
		.key_size = sizeof(struct bh_flow_key),
		.value_size = sizeof(struct bh_flow),
		.max_entries = max_entries,
	};
	int fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));

	assert_true(fd >= 0);
	return fd;
}

static inline void flows_write(const struct scene *s, const struct sockaddr_in *client, __u16 relay,
			       __u64 serial, __u32 address, __u16 port)
{
	const struct bh_flow_key key = {
		.netns = s->netns,
		.address = client->sin_addr.s_addr,
		.port = ntohs(client->sin_port),
		.relay = relay,
	};
	const struct bh_flow flow = {.serial = serial, .address = htonl(address), .port = port};
	union bpf_attr attr = {
		.map_fd = (__u32)s->map,
		.key = (uintptr_t)&key,
		.value = (uintptr_t)&flow,
	};

	assert_int_equal(syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr)), 0);
}

static inline __u64 netns_cookie(void)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	__u64 cookie = 0;
	socklen_t size = sizeof(cookie);

	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size), 0);
	return cookie;
}

/* --- the agent --- */

static inline bool is_readable(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, ms) == 1;
}

/* One message, or NULL. */
static inline json_t *hear(const struct scene *s, int ms)
{
	static char text[CHANNEL_MESSAGE + 1];
	ssize_t n;
	json_t *said;

	if (!is_readable(s->channel, ms))
		return NULL;
	n = recv(s->channel, text, sizeof(text), 0);
	if (n <= 0)
		return NULL;
	said = json_loadb(text, (size_t)n, JSON_REJECT_DUPLICATES, NULL);
	assert_true(json_is_object(said));
	return said;
}

static inline const char *field(const json_t *message, const char *name)
{
	return json_string_value(json_object_get(message, name)) ?: "";
}

static inline json_int_t number(const json_t *message, const char *name)
{
	return json_integer_value(json_object_get(message, name));
}

static inline void say_fds(const struct scene *s, const void *text, size_t n, const int *fds,
			   size_t nfds)
{
	union {
		char bytes[CMSG_SPACE(16 * sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec part = {(void *)text, n};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};

	if (nfds) {
		struct cmsghdr *c;

		header.msg_control = &control;
		header.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		c = CMSG_FIRSTHDR(&header);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
	}
	assert_int_equal(sendmsg(s->channel, &header, MSG_NOSIGNAL), n);
}

/* The answer to what was said last; everything before it is kept. Its "errno". */
static inline int answered(struct scene *s)
{
	for (;;) {
		json_t *said = hear(s, WAIT_MS);

		if (!said)
			fail_msg("no answer");
		if (strcmp(field(said, "is"), "done") && strcmp(field(said, "is"), "failed")) {
			json_array_append_new(s->heard, said);
			continue;
		}
		json_decref(s->answer);
		s->answer = said;
		return (int)number(said, "errno");
	}
}

/* In the format ' is written for ". */
__attribute__((format(printf, 4, 5))) static inline int
ask_fds(struct scene *s, const int *fds, size_t nfds, const char *format, ...)
{
	char text[8192];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	assert_true(n >= 0 && n < (int)sizeof(text));
	for (char *at = strchr(text, '\''); at; at = strchr(at, '\''))
		*at = '"';
	say_fds(s, text, (size_t)n, fds, nfds);
	return answered(s);
}

#define ask(s, ...) ask_fds(s, NULL, 0, __VA_ARGS__)
#define must(s, ...)                                                 \
	do {                                                         \
		if (ask(s, __VA_ARGS__))                             \
			fail_msg("%s", field((s)->answer, "error")); \
	} while (0)

/* The first such event (or "gave", "lost"), taken out; NULL: none came in time. */
static inline json_t *find_said(struct scene *s, const char *is, const char *what,
				const char *outcome, int ms)
{
	uint64_t until = clock_us() + (uint64_t)ms * 1000;

	for (size_t i = 0;; i++) {
		json_t *said = json_array_get(s->heard, i);
		uint64_t now = clock_us();

		if (!said) {
			said = hear(s, now < until ? (int)((until - now) / 1000) + 1 : 0);
			if (!said)
				return NULL;
			json_array_append_new(s->heard, said);
		}
		if (strcmp(field(said, "is"), is) || strcmp(field(said, "what"), what) ||
		    strcmp(field(said, "outcome"), outcome))
			continue;
		json_incref(said);
		json_array_remove(s->heard, i);
		return said;
	}
}

/* The event has to come: of this name. */
static inline json_t *event_of(struct scene *s, const char *what, const char *outcome,
			       const char *name)
{
	json_t *event = find_said(s, "event", what, outcome, WAIT_MS);

	if (!event)
		fail_msg("no %s event says: %s; but: %s", what, outcome,
			 json_dumps(s->heard, JSON_COMPACT));
	assert_string_equal(field(event, "name"), name);
	return event;
}

static inline void expect(struct scene *s, const char *what, const char *outcome, const char *name)
{
	json_decref(event_of(s, what, outcome, name));
}

/* --- the process --- */

/* Descriptors that it may have; 0: as many as it likes. */
static rlim_t egressd_files;
/* Bytes of memory of its own that it may have, likewise. */
static rlim_t egressd_data;

__attribute__((noreturn)) static inline void be_egressd(int channel)
{
	char path[512];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 64);
	char *tests;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (egressd_files)
		setrlimit(RLIMIT_NOFILE, &(struct rlimit){egressd_files, egressd_files});
	if (egressd_data)
		setrlimit(RLIMIT_DATA, &(struct rlimit){egressd_data, egressd_data});
	path[n < 0 ? 0 : n] = '\0';
	tests = strstr(path, "/tests/unit/") ?: strstr(path, "/tests/bench/");
	if (!tests || dup2(channel, CHANNEL_FD) < 0)
		_exit(126);
	strcpy(tests, "/bin/bulkhead-egressd");
	execl(path, path, "--user", "nobody", NULL);
	_exit(127);
}

static inline void egressd_start(struct scene *s)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	s->channel = ends[0];
	s->heard = json_array();
	s->egressd = fork();
	if (s->egressd == 0)
		be_egressd(ends[1]);
	close(ends[1]);
}

/* Its status, once the agent is gone. */
static inline int egressd_end(struct scene *s)
{
	int status = -1;
	pid_t pid = 0;

	if (s->channel >= 0)
		close(s->channel);
	s->channel = -1;
	for (int ms = 0; ms < WAIT_MS && pid != s->egressd; ms += 10) {
		pid = waitpid(s->egressd, &status, WNOHANG);
		if (!pid)
			usleep(10000);
	}
	if (pid != s->egressd) {
		kill(s->egressd, SIGKILL);
		waitpid(s->egressd, NULL, 0);
		fail_msg("egressd does not end");
	}
	s->egressd = 0;
	return status;
}

/* At once, and another one in its place, which was told nothing. */
static inline void egressd_replace(struct scene *s)
{
	kill(s->egressd, SIGKILL);
	assert_int_equal(waitpid(s->egressd, NULL, 0), s->egressd);
	close(s->channel);
	json_decref(s->heard);
	egressd_start(s);
}

#define CONFIGURE                                                                            \
	"{'do': 'configure', 'upstreams': ['" NAMESERVER "'], 'synthetic': '198.18.0.0/15'," \
	" 'nat64': [], 'connect-ms': %d, 'idle-ms': 60000, 'total-ms': 600000}"

static inline void configure(struct scene *s, int connect_ms)
{
	if (ask_fds(s, &s->map, 1, CONFIGURE, connect_ms))
		fail_msg("%s", field(s->answer, "error"));
}

/* In the world, where it answers at every address. */
static inline int world_server(pid_t world, __u16 port)
{
	const struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	_cleanup_close_ int before = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), there = -1;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)world);
	there = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(setns(there, CLONE_NEWNET), 0);
	fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&any, sizeof(any)), 0);
	assert_int_equal(listen(fd, 512), 0);
	assert_int_equal(setns(before, CLONE_NEWNET), 0);
	return fd;
}

/* A name with more addresses than an answer of UDP holds. */
static inline void write_hosts(FILE *file)
{
	for (int i = 1; i <= 64; i++)
		fprintf(file, "10.1.2.%d many.example.com\n", i);
	assert_int_equal(fflush(file), 0);
}

static inline pid_t start_nameserver(void)
{
	char hosts[HOSTS_OPTION];
	_cleanup_fclose_ FILE *file = hosts_open(hosts);
	const char *const names[] = {hosts,
				     "--host-record=api.example.com,8.8.8.8",
				     "--host-record=six.example.com,2001:4860::8",
				     "--host-record=one.cdn.example.com,8.8.8.9",
				     "--host-record=private.example.com,10.1.2.3",
				     "--host-record=mixed.example.com,8.8.8.8",
				     "--host-record=mixed.example.com,127.0.0.1",
				     "--host-record=silent.example.com,5.5.5.5",
				     "--server=/slow.example.com/5.5.5.5"};

	write_hosts(file);
	return nameserver_start(names, sizeof(names) / sizeof(*names));
}

static inline struct scene scene_start(int connect_ms)
{
	struct scene s = {.before = netns_enter(), .map = flows_map(4096), .netns = netns_cookie()};

	s.world = world_start();
	s.server = world_server(s.world, SERVER_PORT);
	s.nameserver = start_nameserver();
	egressd_start(&s);
	if (connect_ms)
		configure(&s, connect_ms);
	return s;
}

static inline void scene_end(struct scene *s)
{
	if (s->egressd)
		assert_int_equal(egressd_end(s), 0);
	json_decref(s->heard);
	json_decref(s->answer);
	close(s->server);
	close(s->map);
	nameserver_end(s->nameserver);
	nameserver_end(s->world);
	netns_leave(&s->before);
}
#define _cleanup_scene_ __attribute__((cleanup(scene_end)))

/* As many datagrams as a test may send at once; 0: as many as the agent's sockets take. */
static int stub_buffer = 64 << 20;

static inline void enlarge(int fd)
{
	int size = stub_buffer;

	if (size)
		assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)),
				 0);
}

static inline int loopback_socket(int family, int type, __u16 *ret_port)
{
	const struct sockaddr_in six_or_four = {.sin_family = AF_INET,
						.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct sockaddr_in6 six = {.sin6_family = AF_INET6,
					 .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr_in6 at; /* the port stands where that of IPv4 does */
	socklen_t size = sizeof(at);
	int fd = socket(family, type | SOCK_CLOEXEC, 0);

	if (family == AF_INET)
		assert_int_equal(bind(fd, (const void *)&six_or_four, sizeof(six_or_four)), 0);
	else
		assert_int_equal(bind(fd, (const void *)&six, sizeof(six)), 0);
	if (type == SOCK_STREAM)
		assert_int_equal(listen(fd, 512), 0);
	else
		enlarge(fd);
	assert_int_equal(getsockname(fd, (void *)&at, &size), 0);
	*ret_port = ntohs(at.sin6_port);
	return fd;
}

static inline struct ports listen_for(struct scene *s, __u64 serial)
{
	struct ports ports;
	int fds[3];

	fds[0] = loopback_socket(AF_INET, SOCK_STREAM, &ports.relay);
	fds[1] = loopback_socket(AF_INET, SOCK_DGRAM, &ports.stub4);
	fds[2] = loopback_socket(AF_INET6, SOCK_DGRAM, &ports.stub6);
	if (ask_fds(s, fds, 3,
		    "{'do': 'listen', 'serial': %llu, 'netns': %llu,"
		    " 'sockets': ['relay', 'stub4', 'stub6']}",
		    (unsigned long long)serial, (unsigned long long)s->netns))
		fail_msg("%s", field(s->answer, "error"));
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	return ports;
}

/* Where nothing was uploaded yet. */
static inline int spent_file(void)
{
	int fd = memfd_create("spent", MFD_CLOEXEC);

	assert_int_equal(ftruncate(fd, sizeof(struct allowances)), 0);
	return fd;
}

static inline void open_counted(struct scene *s, int serial, int spent)
{
	if (ask_fds(s, &spent, 1, "{'do': 'open', 'serial': %d, 'compartment': %d, 'name': 'c%d'}",
		    serial, serial, serial))
		fail_msg("%s", field(s->answer, "error"));
}

static inline void open_compartment(struct scene *s, int serial)
{
	_cleanup_close_ int spent = spent_file();

	open_counted(s, serial, spent);
}

/* Opened, listed and granted. */
static inline struct ports compartment_counted(struct scene *s, int serial, int spent, int lease,
					       const char *entries)
{
	open_counted(s, serial, spent);
	must(s, "{'do': 'list', 'serial': %d, 'entries': [%s]}", serial, entries);
	must(s, "{'do': 'grant', 'serial': %d, 'lease': %d}", serial, lease);
	return listen_for(s, (__u64)serial);
}

static inline struct ports compartment(struct scene *s, int serial, const char *entries)
{
	_cleanup_close_ int spent = spent_file();

	return compartment_counted(s, serial, spent, 1, entries);
}

/* --- programs of the compartment --- */

static inline void set_wait(int fd)
{
	const struct timeval wait = {.tv_sec = WAIT_MS / 1000};

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
}

static inline size_t write_query(const char *name, enum ldns_enum_rr_type type, __u8 *ret,
				 size_t size)
{
	ldns_pkt *query =
		ldns_pkt_query_new(ldns_dname_new_frm_str(name), type, LDNS_RR_CLASS_IN, LDNS_RD);
	uint8_t *wire;
	size_t length;

	ldns_pkt_set_id(query, 0x1234);
	ldns_pkt_set_edns_udp_size(query, 1232);
	assert_int_equal(ldns_pkt2wire(&wire, query, &length), LDNS_STATUS_OK);
	assert_true(length <= size);
	memcpy(ret, wire, length);
	free(wire);
	ldns_pkt_free(query);
	return length;
}

/* What a program learns: RCODE, EDE (-1: none), address (0: none). */
struct learnt {
	int rcode, error;
	__u32 address;
};

static inline struct learnt read_answer(const __u8 *wire, size_t length)
{
	struct learnt ret = {.error = -1};
	ldns_edns_option_list *options;
	ldns_pkt *packet;

	assert_int_equal(ldns_wire2pkt(&packet, wire, length), LDNS_STATUS_OK);
	assert_int_equal(ldns_pkt_id(packet), 0x1234);
	ret.rcode = (int)ldns_pkt_get_rcode(packet);
	if (ldns_pkt_ancount(packet))
		ret.address = ldns_read_uint32(
			ldns_rdf_data(ldns_rr_rdf(ldns_rr_list_rr(ldns_pkt_answer(packet), 0), 0)));
	options = ldns_pkt_edns_get_option_list(packet);
	if (options && ldns_edns_option_list_get_count(options))
		ret.error = ldns_read_uint16(
			ldns_edns_get_data(ldns_edns_option_list_get_option(options, 0)));
	ldns_pkt_free(packet);
	return ret;
}

/* A UDP socket that leads to a stub. */
static inline int resolver_socket(int family, __u16 port)
{
	const struct sockaddr_in four = {.sin_family = AF_INET,
					 .sin_port = htons(port),
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct sockaddr_in6 six = {.sin6_family = AF_INET6,
					 .sin6_port = htons(port),
					 .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	set_wait(fd);
	enlarge(fd);
	assert_int_equal(family == AF_INET ? connect(fd, (const void *)&four, sizeof(four))
					   : connect(fd, (const void *)&six, sizeof(six)),
			 0);
	return fd;
}

static inline struct learnt lookup_by(int family, __u16 port, const char *name,
				      enum ldns_enum_rr_type type)
{
	_cleanup_close_ int fd = resolver_socket(family, port);
	__u8 wire[1024];
	size_t n = write_query(name, type, wire, sizeof(wire));
	ssize_t got;

	assert_int_equal(send(fd, wire, n, 0), n);
	got = recv(fd, wire, sizeof(wire), 0);
	assert_true(got > 0);
	return read_answer(wire, (size_t)got);
}

static inline struct learnt lookup(const struct ports *ports, const char *name)
{
	return lookup_by(AF_INET, ports->stub4, name, LDNS_RR_TYPE_A);
}

static inline __u32 address_of(const struct ports *ports, const char *name)
{
	struct learnt learnt = lookup(ports, name);

	assert_int_equal(learnt.rcode, LDNS_RCODE_NOERROR);
	assert_int_equal(learnt.address & 0xfffe0000, SYNTHETIC);
	return learnt.address;
}

/* A socket that has its port, and a connection from it; serial 0: of which the kernel knows nothing. */
static inline int connect_as(const struct scene *s, const struct ports *ports, __u64 serial,
			     __u32 address, __u16 port)
{
	const struct sockaddr_in relay = {.sin_family = AF_INET,
					  .sin_port = htons(ports->relay),
					  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(own);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	set_wait(fd);
	assert_int_equal(bind(fd, (const void *)&own, sizeof(own)), 0);
	assert_int_equal(getsockname(fd, (void *)&own, &size), 0);
	if (serial)
		flows_write(s, &own, ntohs(relay.sin_port), serial, address, port);
	assert_int_equal(connect(fd, (const void *)&relay, sizeof(relay)), 0);
	return fd;
}

/* By name, as a program does. */
static inline int connect_to(const struct scene *s, const struct ports *ports, __u64 serial,
			     const char *name, __u16 port)
{
	return connect_as(s, ports, serial, address_of(ports, name), port);
}

/* The server's end of the next connection. */
static inline int world_accept(const struct scene *s)
{
	int fd;

	if (!is_readable(s->server, WAIT_MS))
		fail_msg("nobody connects");
	fd = accept4(s->server, NULL, NULL, SOCK_CLOEXEC);
	assert_true(fd >= 0);
	set_wait(fd);
	return fd;
}

/* All these bytes, from one end to the other. */
static inline void carry(int from, int to, const char *text)
{
	char got[256];
	size_t n = strlen(text);

	assert_int_equal(send(from, text, n, MSG_NOSIGNAL), n);
	assert_int_equal(recv(to, got, n, MSG_WAITALL), n);
	assert_memory_equal(got, text, n);
}

/* How what is read ends: 0 or -errno. */
static inline int how_it_ends(int fd)
{
	char bytes[4096];
	ssize_t n;

	do
		n = recv(fd, bytes, sizeof(bytes), 0);
	while (n > 0);
	return n ? -errno : 0;
}

/* A connection of a program's and, at its other end, the server's. */
struct talk {
	int client, server;
};

static inline struct talk talk_start(const struct scene *s, const struct ports *ports, __u64 serial,
				     const char *name)
{
	struct talk talk = {.client = connect_to(s, ports, serial, name, SERVER_PORT)};

	talk.server = world_accept(s);
	carry(talk.client, talk.server, "hello");
	carry(talk.server, talk.client, "welcome");
	return talk;
}

static inline void talk_end(struct talk *talk)
{
	close(talk->client);
	close(talk->server);
}
#define _cleanup_talk_ __attribute__((cleanup(talk_end)))

/* Both ends are reset. */
static inline void expect_cut(const struct talk *talk)
{
	assert_int_equal(how_it_ends(talk->client), -ECONNRESET);
	assert_int_equal(how_it_ends(talk->server), -ECONNRESET);
}

#endif
