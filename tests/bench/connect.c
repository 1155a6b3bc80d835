// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a connection costs who is inside: connect(2) of UDP, which sends nothing, and a TCP connection made, taken and
 * closed over loopback. Each against the same with one empty program on connect4 of the cgroup, and with one that
 * refuses and does nothing else. Of refusals, the first of a kind, whose event is told, and the same again, which is folded.
 */
#include "kern/harness.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"

#define BATCHES 11
#define TURNS 500  /* events of one batch fit the ring */
#define SETTLE_S 6 /* asynchronous work after boot inflates the first figures */

#define FOLD_MS 600000 /* longer than it all takes */

#define SYNTHETIC "198.18.0.1"
#define OUTSIDE "203.0.113.9"

struct work {
	int type;
	const char *to;
	int port;
	int listener; /* of TCP */
	int result;   /* of connect(2), errno */
	bool varied;  /* another port each time: each refusal is the first of its kind */
};

/* Shared with who measures. */
static struct shared {
	volatile int go, done;
	volatile double ns;
} * shared;

static struct sockaddr_in address_of(const struct work *work)
{
	static int turn;
	int port = work->varied ? work->port + ++turn : work->port;
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

	inet_pton(AF_INET, work->to, &at.sin_addr);
	return at;
}

static void expect(const struct work *work, int r)
{
	if ((r < 0 ? errno : 0) == work->result)
		return;
	fprintf(stderr, "connect to %s port %d: %s\n", work->to, work->port,
		r < 0 ? strerror(errno) : "it went through");
	_exit(1);
}

static void once_udp(const struct work *work, int fd)
{
	struct sockaddr_in to = address_of(work);

	expect(work, connect(fd, (struct sockaddr *)&to, sizeof(to)));
}

/* Reset, so that no port is left waiting. */
static void once_tcp(const struct work *work)
{
	const struct linger reset = {.l_onoff = 1};
	struct sockaddr_in to = address_of(work);
	int fd = socket(AF_INET, SOCK_STREAM, 0), peer;

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	expect(work, connect(fd, (struct sockaddr *)&to, sizeof(to)));
	if (!work->result) {
		peer = accept(work->listener, NULL, NULL);
		close(fd);
		close(peer);
	} else {
		close(fd);
	}
}

static void wait_word(volatile int *word, int value)
{
	while (*word < value)
		usleep(1000);
}

/* A batch each time it is told to, so that the ring can be emptied in between. */
static int do_batches(void *data)
{
	const struct work *work = data;
	int fd;

	/* By then it was moved: a socket stays with the cgroup it was born in. */
	wait_word(&shared->go, 1);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	for (int i = 0; i <= BATCHES; i++) {
		double start;

		wait_word(&shared->go, i + 1);
		start = now_ns();
		for (int j = 0; j < TURNS; j++) {
			if (work->type == SOCK_DGRAM)
				once_udp(work, fd);
			else
				once_tcp(work);
		}
		shared->ns = (now_ns() - start) / TURNS;
		shared->done = i + 1;
	}
	return 0;
}

/* Median over batches but the first, in nanoseconds a turn. */
static double measure(struct cell *cell, bool inside, const struct work *work)
{
	double batch[BATCHES];
	pid_t pid;

	shared->go = shared->done = 0;
	/* An outsider who was cloned into its cgroup would bear a label that says so. */
	pid = cell_spawn(cell, inside ? cell->cgroup_fd : -1, do_batches, (void *)work);
	if (!inside && cell_move(cell->beside, pid) < 0)
		exit(1);
	/* As the agent does: else everybody's cgroup is asked at each hook. */
	usleep(100000);
	cell_settle(cell);
	for (int i = 0; i <= BATCHES; i++) {
		shared->go = i + 1;
		wait_word(&shared->done, i + 1);
		if (i)
			batch[i - 1] = shared->ns;
		cell_drain(cell);
		cell->nevents = 0;
	}
	cell_wait(pid);
	return median(batch, BATCHES);
}

static int attach_empty_connect(int cgroup_fd, int answer)
{
	const struct bpf_insn body[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = answer},
					{.code = BPF_JMP | BPF_EXIT}};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_CGROUP_INET4_CONNECT);
	int prog = bpf_prog_load(BPF_PROG_TYPE_CGROUP_SOCK_ADDR, "empty", "GPL", body, 2, &options);
	int link = prog < 0 ? -1 : bpf_link_create(prog, cgroup_fd, BPF_CGROUP_INET4_CONNECT, NULL);

	if (prog >= 0)
		close(prog);
	return link;
}

static int listener_open(int type)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    (type == SOCK_STREAM && listen(fd, 64) < 0))
		return -1;
	return fd;
}

static int port_of(int fd)
{
	struct sockaddr_in at = {};
	socklen_t length = sizeof(at);

	return getsockname(fd, (struct sockaddr *)&at, &length) < 0 ? 0 : ntohs(at.sin_port);
}

static int open_outlet(struct cell *cell, int relay, int stub)
{
	struct bh_compartment entry;
	struct bh_outlet outlet = {.synthetic = inet_addr("198.18.0.0"),
				   .netmask = inet_addr("255.254.0.0"),
				   .relay = (__u16)port_of(relay),
				   .stub4 = (__u16)port_of(stub)};
	__u64 netns;
	socklen_t length = sizeof(netns);

	if (kern_compartment_get(cell->kern, cell->id, &entry) ||
	    getsockopt(relay, SOL_SOCKET, SO_NETNS_COOKIE, &netns, &length) < 0)
		return -1;
	outlet.serial = entry.serial;
	if (kern_outlet_mark(cell->kern, relay, cell->id, entry.serial) ||
	    kern_outlet_mark(cell->kern, stub, cell->id, entry.serial))
		return -1;
	return kern_outlet_set(cell->kern, cell->id, netns, &outlet);
}

/* Beside: nothing; one that allows; one that refuses (connect alone). */
static void measure_beside(struct cell *cell, struct work work, double ret[3])
{
	int link;

	ret[0] = measure(cell, false, &work);
	link = attach_empty_connect(cell->beside_fd, 1);
	ret[1] = measure(cell, false, &work);
	close(link);
	link = attach_empty_connect(cell->beside_fd, 0);
	work.result = EPERM;
	ret[2] = measure(cell, false, &work);
	close(link);
}

static void say(const char *what, const double beside[3], const double inside[3])
{
	printf("%s %.0f: empty program +%.0f; refused by an empty one %.0f, inside with its event "
	       "%.0f (%.2f), folded %.0f (%.2f), ",
	       what, beside[0], beside[1] - beside[0], beside[2], inside[0], inside[0] / beside[2],
	       inside[1], inside[1] / beside[2]);
	printf("redirected inside %.0f (%.2f of the empty program's)\n", inside[2],
	       inside[2] / beside[1]);
}

/* Refused, each the first of its kind; refused, all of one kind; let through. */
static void measure_inside(struct cell *cell, const struct work *refused,
			   const struct work *allowed, double ret[3])
{
	struct work work = *refused;

	work.result = EACCES;
	work.varied = true;
	ret[0] = measure(cell, true, &work);
	work.varied = false;
	ret[1] = measure(cell, true, &work);
	ret[2] = measure(cell, true, allowed);
}

int main(void)
{
	const struct cell_options options = {.flags = BH_POLICY_EGRESS};
	struct work udp = {.type = SOCK_DGRAM, .to = "127.0.0.1"}, tcp = {.type = SOCK_STREAM},
		    allowed;
	double beside[3], inside[3];
	struct error error = {};
	struct cell *cell;
	struct kern *kern;
	int stub;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (fixture_make() || harness_open(&kern, &error) < 0) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	kern_fold_switch(kern, FOLD_MS);
	cell = cell_new(kern, &options);
	tcp.listener = listener_open(SOCK_STREAM);
	stub = listener_open(SOCK_DGRAM);
	if (!cell || open_outlet(cell, tcp.listener, stub))
		return 1;
	sleep(SETTLE_S);

	udp.port = port_of(stub);
	measure_beside(cell, udp, beside);
	measure_inside(cell, &(struct work){.type = SOCK_DGRAM, .to = OUTSIDE, .port = 1000},
		       &(struct work){.type = SOCK_DGRAM, .to = OUTSIDE, .port = 53}, inside);
	say("udp connect", beside, inside);

	tcp.to = "127.0.0.1";
	tcp.port = port_of(tcp.listener);
	measure_beside(cell, tcp, beside);
	allowed = tcp;
	allowed.to = SYNTHETIC;
	allowed.port = 443;
	tcp.to = OUTSIDE;
	tcp.port = 1000;
	measure_inside(cell, &tcp, &allowed, inside);
	say("tcp connection", beside, inside);
	cell_free(cell);
	kern_close(kern);
	return 0;
}
