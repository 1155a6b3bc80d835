// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is measured on a way. Each measurement leaves nothing open behind it. */
#include "relay.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>
#include "clock.h"

/* Short, and many rounds of it: what else runs on the machine comes and goes. */
#define WARM_MS 100
#define STREAMS_MS 250
#define CONNECTIONS_MS 250
#define ROUND_TRIPS 1000
#define WARM_TRIPS 200
#define END_MS 5000
#define MAX_THREADS 32

/* What the threads of one measurement share. */
struct load {
	enum way way;
	char direction;
	atomic_bool over;
	atomic_ullong done; /* bytes of a download; connections */
	size_t nthreads;
	pthread_t threads[MAX_THREADS];
	int fds[MAX_THREADS]; /* of streams */
};

struct worker {
	struct load *load;
	int fd;
};

static void sleep_ms(long ms)
{
	usleep((useconds_t)ms * 1000);
}

static void start(struct load *load, void *(*run)(void *), int fd)
{
	struct worker *worker = malloc(sizeof(*worker));

	*worker = (struct worker){load, fd};
	load->fds[load->nthreads] = fd;
	if (pthread_create(&load->threads[load->nthreads++], NULL, run, worker))
		bench_die("no thread");
}

/* Of a counter, once it runs evenly. */
static struct rate sample(enum way way, const atomic_ullong *counter, long ms)
{
	unsigned long long before;
	double since, cpu, n;

	sleep_ms(WARM_MS);
	before = atomic_load(counter);
	since = now_ns();
	cpu = way_cpu(way);
	sleep_ms(ms);
	n = (double)(atomic_load(counter) - before);
	return (struct rate){n / (now_ns() - since) * 1e9, (way_cpu(way) - cpu) / n};
}

static void join(struct load *load)
{
	atomic_store(&load->over, true);
	for (size_t i = 0; i < load->nthreads; i++)
		pthread_join(load->threads[i], NULL);
}

/* --- streams --- */

static void *run_stream(void *data)
{
	struct worker worker = *(struct worker *)data;
	struct load *load = worker.load;
	char *buffer = calloc(1, PEER_BUFFER);
	ssize_t n = 1;

	free(data);
	while (n > 0 && !atomic_load(&load->over)) {
		if (load->direction == PEER_UPLOAD)
			n = send(worker.fd, buffer, PEER_BUFFER, MSG_NOSIGNAL);
		else
			n = recv(worker.fd, buffer, PEER_BUFFER, 0);
		if (load->direction == PEER_DOWNLOAD && n > 0)
			atomic_fetch_add(&load->done, (unsigned long long)n);
	}
	free(buffer);
	if (!atomic_load(&load->over))
		bench_die("%s: a stream ended: %s", way_names[load->way], strerror(errno));
	return NULL;
}

static void wait_no_streams(enum way way)
{
	for (int ms = 0; atomic_load(&ways_peer()->streams); ms++) {
		if (ms == END_MS)
			bench_die("%s: streams do not end", way_names[way]);
		sleep_ms(1);
	}
}

struct rate load_streams(enum way way, char direction, size_t streams)
{
	struct load load = {.way = way, .direction = direction};
	struct rate rate;

	way_prepare(way, SERVICE_BULK);
	for (size_t i = 0; i < streams; i++) {
		int fd = way_connect(way, SERVICE_BULK);

		if (send(fd, &direction, 1, MSG_NOSIGNAL) != 1)
			bench_die("%s: send: %s", way_names[way], strerror(errno));
		start(&load, run_stream, fd);
	}
	rate = sample(way, direction == PEER_UPLOAD ? &ways_peer()->received : &load.done,
		      STREAMS_MS);
	atomic_store(&load.over, true);
	for (size_t i = 0; i < streams; i++)
		shutdown(load.fds[i], SHUT_RDWR);
	join(&load);
	for (size_t i = 0; i < streams; i++)
		close(load.fds[i]);
	wait_no_streams(way);
	return rate;
}

/* --- connections --- */

/* A byte there and back. */
static void round_trip(enum way way, int fd)
{
	char byte = 'x';

	if (send(fd, &byte, 1, MSG_NOSIGNAL) != 1 || recv(fd, &byte, 1, 0) != 1)
		bench_die("%s: no byte came back: %s", way_names[way], strerror(errno));
}

static void *run_connections(void *data)
{
	struct worker worker = *(struct worker *)data;
	struct load *load = worker.load;

	free(data);
	while (!atomic_load(&load->over)) {
		int fd = way_connect(load->way, SERVICE_ECHO);

		round_trip(load->way, fd);
		close(fd);
		atomic_fetch_add(&load->done, 1);
	}
	return NULL;
}

struct rate load_connections(enum way way, size_t at_once)
{
	struct load load = {.way = way};
	struct rate rate;

	way_prepare(way, SERVICE_ECHO);
	for (size_t i = 0; i < at_once; i++)
		start(&load, run_connections, -1);
	rate = sample(way, &load.done, CONNECTIONS_MS);
	join(&load);
	return rate;
}

/* --- round trips --- */

void load_round_trips(enum way way, double *ret_p50, double *ret_p99)
{
	static double took[ROUND_TRIPS];
	int fd, on = 1;

	way_prepare(way, SERVICE_ECHO);
	fd = way_connect(way, SERVICE_ECHO);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	for (int i = 0; i < WARM_TRIPS; i++)
		round_trip(way, fd);
	for (size_t i = 0; i < ROUND_TRIPS; i++) {
		double since = now_ns();

		round_trip(way, fd);
		took[i] = now_ns() - since;
	}
	close(fd);
	*ret_p50 = median(took, ROUND_TRIPS);
	*ret_p99 = took[ROUND_TRIPS * 99 / 100];
}
