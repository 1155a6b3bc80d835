// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The ways to the server, which stands at a public-numbered address of a world behind a gateway (unit/world.h): direct;
 * bulkhead-egressd, which is given a name and resolves it; proxies that are given the address. The flows that the kernel
 * side would write down are there before, for each port that a connection may come from.
 */
#include "relay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <netinet/tcp.h>
#include "unit/egressd.h"

#define BULK_PORT SERVER_PORT
#define ECHO_PORT (SERVER_PORT + 1)
#define SQUID_PORT 3128
#define TINYPROXY_PORT 3129
/* Where connections come from: without what listens. */
#define FIRST_PORT 10000
#define LAST_PORT 65535
#define SERIAL 7
#define OTHER_SERIAL 9
#define PROXY_MS 20000
#define SERVER_ADDRESS 0x08080808

const char *const way_names[ALL_WAYS] = {
	[WAY_DIRECT] = "direct", [WAY_RELAY] = "relay",		[WAY_BARE] = "bare",
	[WAY_SQUID] = "squid",	 [WAY_TINYPROXY] = "tinyproxy", [WAY_LOOPBACK] = "loopback",
};

static const __u16 service_ports[] = {[SERVICE_BULK] = BULK_PORT, [SERVICE_ECHO] = ECHO_PORT};

static struct scene scene;
static struct ports ports[2]; /* of the two compartments */
static __u32 synthetic[2];
static struct peer *peer;
static pid_t peer_pid;
static __u16 loopback_port;
static char directory[] = "/tmp/bulkhead-bench-XXXXXX";

/* --- proxies --- */

static struct proxy {
	const char *program, *config;
	const char *arguments[4]; /* before the file with the config */
	__u16 port;
	pid_t pid; /* 0: it is not there */
} proxies[WAYS] = {
	[WAY_SQUID] = {.program = "squid",
		       .arguments = {"squid", "-N", "-f"},
		       .port = SQUID_PORT,
		       .config = "http_port 127.0.0.1:3128\n"
				 "http_access allow all\n"
				 "cache deny all\n"
				 "cache_mem 0\n"
				 "access_log none\n"
				 "cache_log /dev/null\n"
				 "cache_store_log none\n"
				 "pid_filename none\n"
				 "netdb_filename none\n"
				 "pinger_enable off\n"
				 "client_db off\n"
				 "dns_nameservers 127.0.0.1\n"
				 "visible_hostname bench\n"
				 "max_filedescriptors 8192\n"
				 "shutdown_lifetime 0 seconds\n"},
	[WAY_TINYPROXY] = {.program = "tinyproxy",
			   .arguments = {"tinyproxy", "-d", "-c"},
			   .port = TINYPROXY_PORT,
			   .config = "Listen 127.0.0.1\n"
				     "Port 3129\n"
				     "Timeout 600\n"
				     "MaxClients 2000\n"
				     "LogLevel Critical\n"
				     "LogFile \"/dev/null\"\n"
				     "DisableViaHeader Yes\n"},
};

static void config_path(const struct proxy *proxy, char *ret, size_t size)
{
	snprintf(ret, size, "%s/%s.conf", directory, proxy->program);
}

__attribute__((noreturn)) static void be_proxy(const struct proxy *proxy)
{
	const char *argv[6] = {NULL};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char path[128];
	size_t n = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	config_path(proxy, path, sizeof(path));
	for (; proxy->arguments[n]; n++)
		argv[n] = proxy->arguments[n];
	argv[n] = path;
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	execvp(proxy->program, (char *const *)argv);
	_exit(127);
}

static int try_connect(__u32 address, __u16 port)
{
	const struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(address)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	set_wait(fd);
	if (!connect(fd, (const void *)&to, sizeof(to)))
		return fd;
	close(fd);
	return -1;
}

/* False: the program is not there. */
static bool wait_proxy(const struct proxy *proxy)
{
	for (int ms = 0; ms < PROXY_MS; ms += 10) {
		_cleanup_close_ int fd = try_connect(INADDR_LOOPBACK, proxy->port);
		int status;

		if (fd >= 0)
			return true;
		if (waitpid(proxy->pid, &status, WNOHANG) != proxy->pid) {
			usleep(10000);
			continue;
		}
		if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
			return false;
		break;
	}
	bench_die("%s does not listen", proxy->program);
}

static void start_proxy(struct proxy *proxy)
{
	char path[128];
	FILE *file;

	config_path(proxy, path, sizeof(path));
	file = fopen(path, "we");
	if (!file || fputs(proxy->config, file) < 0 || fclose(file))
		bench_die("%s: %s", path, strerror(errno));
	proxy->pid = fork();
	if (proxy->pid == 0)
		be_proxy(proxy);
	if (wait_proxy(proxy))
		return;
	proxy->pid = 0;
	printf("relay: there is no %s to compare with: scripts/setup bench\n", proxy->program);
}

static void end_proxy(struct proxy *proxy)
{
	char path[128];

	if (!proxy->program)
		return;
	if (proxy->pid)
		nameserver_end(proxy->pid);
	config_path(proxy, path, sizeof(path));
	unlink(path);
}

/* The proxy says nothing behind its answer before the server does, which speaks second. */
static void ask_proxy(enum way way, int fd, __u16 port)
{
	char text[512];
	int n = snprintf(text, sizeof(text),
			 "CONNECT 8.8.8.8:%u HTTP/1.1\r\nHost: 8.8.8.8:%u\r\n\r\n", port, port);
	size_t got = 0;

	if (send(fd, text, (size_t)n, MSG_NOSIGNAL) != n)
		bench_die("%s: send: %s", way_names[way], strerror(errno));
	while (got < 4 || memcmp(text + got - 4, "\r\n\r\n", 4)) {
		ssize_t more = recv(fd, text + got, sizeof(text) - got, 0);

		if (more <= 0)
			bench_die("%s: no answer", way_names[way]);
		got += (size_t)more;
	}
	if (got < 12 || memcmp(text + 8, " 200", 4))
		bench_die("%s: %.*s", way_names[way], (int)got, text);
}

/* --- the relay without anything of ours --- */

static __u16 bare_ports[BARE_PORTS]; /* by service */
static pid_t bare_pid;

static void start_bare(void)
{
	static struct bare_port bare[BARE_PORTS];

	for (int i = 0; i < BARE_PORTS; i++)
		bare[i] = (struct bare_port){
			.listener = loopback_socket(AF_INET, SOCK_STREAM, &bare_ports[i]),
			.to = SERVER_ADDRESS,
			.to_port = service_ports[i],
		};
	bare_pid = bare_start(bare);
	for (int i = 0; i < BARE_PORTS; i++)
		close(bare[i].listener);
}

/* --- the relay --- */

/* As the agent does: what is told is read. */
static void *drain_channel(void *data)
{
	static char text[CHANNEL_MESSAGE];

	while (recv(scene.channel, text, sizeof(text), 0) > 0)
		;
	return data;
}

static struct ports open_ways(int serial)
{
	open_compartment(&scene, serial);
	must(&scene, "{'do': 'list', 'serial': %d, 'entries': [{'to': 'api.example.com:%d,%d'}]}",
	     serial, BULK_PORT, ECHO_PORT);
	must(&scene, "{'do': 'grant', 'serial': %d, 'lease': 1}", serial);
	return listen_for(&scene, (__u64)serial);
}

static void start_relay(void)
{
	pthread_t thread;

	egressd_start(&scene);
	configure(&scene, 10000);
	ports[0] = open_ways(SERIAL);
	ports[1] = open_ways(OTHER_SERIAL);
	for (int i = 0; i < 2; i++)
		synthetic[i] = address_of(&ports[i], "api.example.com");
	if (pthread_create(&thread, NULL, drain_channel, NULL))
		bench_die("no thread");
	pthread_detach(thread);
}

/* --- where it all stands --- */

static void set_sysctl(const char *name, const char *value)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/sys/net/ipv4/%s", name);
	file = fopen(path, "we");
	if (!file || fputs(value, file) < 0 || fclose(file))
		bench_die("%s: %s", path, strerror(errno));
}

/* Not the hard one: the relay's own bound goes by it. */
static void raise_files(void)
{
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

/* A name that has one address for a while, and of which its zone says that there is no other, as is usual. */
static pid_t start_resolver(void)
{
	static const char *const options[] = {"--auth-server=ns.example.com,lo",
					      "--auth-zone=example.com", "--auth-ttl=60",
					      "--host-record=api.example.com,8.8.8.8"};

	return nameserver_start(options, sizeof(options) / sizeof(*options));
}

/* Who is accepted has his listener's, who connects has his namespace's. */
static void set_congestion(const char *name, const int listeners[PEER_SOCKETS])
{
	set_sysctl("tcp_congestion_control", name);
	for (int i = 0; i < PEER_SOCKETS; i++)
		if (setsockopt(listeners[i], IPPROTO_TCP, TCP_CONGESTION, name,
			       (socklen_t)strlen(name)))
			bench_die("%s: %s", name, strerror(errno));
}

static void start_peer(const char *congestion)
{
	int listeners[PEER_SOCKETS] = {
		[PEER_BULK] = world_server(scene.world, BULK_PORT),
		[PEER_ECHO] = world_server(scene.world, ECHO_PORT),
		[PEER_LOOPBACK] = loopback_socket(AF_INET, SOCK_STREAM, &loopback_port),
	};

	if (congestion)
		set_congestion(congestion, listeners);
	/* One that hung up is not waited for. */
	for (int i = PEER_ECHO; i < PEER_SOCKETS; i++)
		fcntl(listeners[i], F_SETFL, O_RDWR | O_NONBLOCK);
	peer = peer_start(listeners, &peer_pid);
}

void ways_open(const char *congestion)
{
	raise_files();
	if (!mkdtemp(directory))
		bench_die("%s: %s", directory, strerror(errno));
	/* Squid reads it as a user of its own. */
	chmod(directory, 0755);
	scene.before = netns_enter();
	/* Thousands of connections a second: those that are over keep no port from others. */
	set_sysctl("ip_local_port_range", "10000 65535");
	set_sysctl("tcp_tw_reuse", "1");
	set_sysctl("tcp_max_tw_buckets", "262144");
	scene.map = flows_map(LAST_PORT + 1);
	scene.netns = netns_cookie();
	scene.world = world_start();
	scene.nameserver = start_resolver();
	start_peer(congestion);
	for (int i = 0; i < WAYS; i++)
		if (proxies[i].program)
			start_proxy(&proxies[i]);
	start_bare();
	start_relay();
}

void ways_close(void)
{
	shutdown(scene.channel, SHUT_RDWR);
	egressd_end(&scene);
	for (int i = 0; i < WAYS; i++)
		end_proxy(&proxies[i]);
	nameserver_end(bare_pid);
	nameserver_end(peer_pid);
	nameserver_end(scene.nameserver);
	nameserver_end(scene.world);
	rmdir(directory);
}

bool way_is_there(enum way way)
{
	return way >= WAYS || !proxies[way].program || proxies[way].pid;
}

const struct peer *ways_peer(void)
{
	return peer;
}

void way_prepare(enum way way, enum service service)
{
	struct sockaddr_in client = {.sin_family = AF_INET,
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	if (way != WAY_RELAY)
		return;
	for (unsigned int port = FIRST_PORT; port <= LAST_PORT; port++) {
		client.sin_port = htons((__u16)port);
		flows_write(&scene, &client, ports[0].relay, SERIAL, synthetic[0],
			    service_ports[service]);
	}
}

int way_connect(enum way way, enum service service)
{
	int fd;

	if (way == WAY_DIRECT)
		fd = try_connect(SERVER_ADDRESS, service_ports[service]);
	else if (way == WAY_RELAY)
		fd = try_connect(INADDR_LOOPBACK, ports[0].relay);
	else if (way == WAY_BARE)
		fd = try_connect(INADDR_LOOPBACK, bare_ports[service]);
	else if (way == WAY_LOOPBACK)
		fd = try_connect(INADDR_LOOPBACK, loopback_port);
	else
		fd = try_connect(INADDR_LOOPBACK, proxies[way].port);
	if (fd < 0)
		bench_die("%s: connect: %s", way_names[way], strerror(errno));
	if (way == WAY_SQUID || way == WAY_TINYPROXY)
		ask_proxy(way, fd, service_ports[service]);
	return fd;
}

/* --- what it costs --- */

double way_cpu(enum way way)
{
	pid_t pid = way == WAY_RELAY  ? scene.egressd
		    : way == WAY_BARE ? bare_pid
		    : way < WAYS      ? proxies[way].pid
				      : 0;
	struct timespec t;
	clockid_t clock;

	if (!pid)
		return 0;
	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		bench_die("%s is gone", way_names[way]);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static unsigned long field_kb(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	if (!at)
		bench_die("smaps_rollup says no %s", name);
	return strtoul(at + strlen(name), NULL, 10);
}

struct memory ways_relay_memory(void)
{
	char path[64], text[4096];
	_cleanup_fclose_ FILE *file = NULL;
	size_t n = 0;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)scene.egressd);
	file = fopen(path, "re");
	if (file)
		n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = '\0';
	return (struct memory){field_kb(text, "\nRss:"), field_kb(text, "\nPss:")};
}

void ways_hold(int fds[HELD_FLOWS])
{
	char byte = 'x';

	for (int i = 0; i < HELD_FLOWS; i++) {
		int which = i % 2;

		fds[i] = connect_as(&scene, &ports[which], which ? OTHER_SERIAL : SERIAL,
				    synthetic[which], ECHO_PORT);
		if (send(fds[i], &byte, 1, MSG_NOSIGNAL) != 1 || recv(fds[i], &byte, 1, 0) != 1)
			bench_die("relay: flow %d of %d carries nothing: %s", i, HELD_FLOWS,
				  strerror(errno));
	}
}
