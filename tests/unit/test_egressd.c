// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* bulkhead-egressd, the program (egressd.h). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "egressd.h"
#include "clienthello.h"
#include "egressd/egressd.h"

#define N_OF(array) (sizeof(array) / sizeof(*(array)))
#define CONNECT_MS 10000
#define SHORT_MS 700

#define API "{'to': 'api.example.com:8443'}"

/* --- the process --- */

static unsigned long long status_field(pid_t pid, const char *name, int base)
{
	char path[64], line[256];
	_cleanup_fclose_ FILE *file = NULL;
	size_t n = strlen(name);

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, name, n) && line[n] == ':')
			return strtoull(line + n + 1, NULL, base);
	fail_msg("no %s", name);
	return 0;
}

/* Nothing is left to it. */
static void test_privilege(void **state)
{
	static const char *const sets[] = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};
	_cleanup_scene_ struct scene s = scene_start(CONNECT_MS);

	(void)state;
	for (size_t i = 0; i < N_OF(sets); i++)
		assert_int_equal(status_field(s.egressd, sets[i], 16), 0);
	assert_int_equal(status_field(s.egressd, "NoNewPrivs", 10), 1);
	assert_int_equal(status_field(s.egressd, "Seccomp", 10), 2);
	assert_int_equal(status_field(s.egressd, "Uid", 10), 65534);
	assert_int_equal(status_field(s.egressd, "Gid", 10), 65534);
}

static void test_no_agent(void **state)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), status = -1;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		dup2(null, STDERR_FILENO);
		be_egressd(null);
	}
	close(null);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 1);
}

/* The agent is gone: all is reset, and it ends. */
static void test_end(void **state)
{
	_cleanup_scene_ struct scene s = scene_start(CONNECT_MS);
	struct ports ports = compartment(&s, 7, API);
	_cleanup_talk_ struct talk talk = talk_start(&s, &ports, 7, "api.example.com");

	(void)state;
	assert_int_equal(egressd_end(&s), 0);
	expect_cut(&talk);
}

static void test_terminated(void **state)
{
	_cleanup_scene_ struct scene s = scene_start(CONNECT_MS);
	struct ports ports = compartment(&s, 7, API);
	_cleanup_talk_ struct talk talk = talk_start(&s, &ports, 7, "api.example.com");

	(void)state;
	kill(s.egressd, SIGTERM);
	expect_cut(&talk);
	assert_int_equal(egressd_end(&s), 0);
}

/* --- the channel --- */

#define MANY_TEXTS "'a','a','a','a','a','a','a','a','a'"

static const struct {
	const char *text;
	int code;
	const char *reason;
} wrong[] = {
	{"", EINVAL, "no JSON object"},
	{"no", EINVAL, "no JSON object"},
	{"[]", EINVAL, "no JSON object"},
	{"{'do': 'open', 'do': 'open'}", EINVAL, "no JSON object"},
	{"{}", EINVAL, "no such verb"},
	{"{'do': 7}", EINVAL, "no such verb"},
	{"{'do': 'dance', 'serial': 7}", EINVAL, "no such verb"},
	{"{'do': 'ping', 'serial': 7}", EINVAL, "not known"},
	{"{'do': 'revoke'}", EINVAL, "field"},
	{"{'do': 'revoke', 'serial': '7'}", EINVAL, "no serial number"},
	{"{'do': 'revoke', 'serial': 0}", EINVAL, "no serial number"},
	{"{'do': 'revoke', 'serial': -1}", EINVAL, "no serial number"},
	{"{'do': 'revoke', 'serial': 8}", ENOENT, "no such compartment"},
	{"{'do': 'revoke', 'serial': 7, 'please': true}", EINVAL, "not known"},
	{"{'do': 'open', 'serial': 8, 'compartment': 1}", EINVAL, "no field \"name\""},
	{"{'do': 'open', 'serial': 8, 'compartment': 1, 'name': 7}", EINVAL, "another type"},
	{"{'do': 'open', 'serial': 8, 'compartment': 0, 'name': 'x'}", EINVAL, "no id"},
	{"{'do': 'open', 'serial': 8, 'compartment': 1024, 'name': 'x'}", EINVAL, "no id"},
	{"{'do': 'open', 'serial': 8, 'compartment': 1, 'name': ''}", EINVAL, "1 to 63 bytes"},
	{"{'do': 'open', 'serial': 8, 'compartment': 1, 'name': 'x'}", EINVAL, "one descriptor"},
	{"{'do': 'list', 'serial': 7, 'entries': {}}", EINVAL, "another type"},
	{"{'do': 'list', 'serial': 7, 'entries': [7]}", EINVAL, "another type"},
	{"{'do': 'list', 'serial': 7, 'entries': [], 'proxy': 1}", EINVAL, "another type"},
	{"{'do': 'list', 'serial': 7, 'entries': [{}]}", EINVAL, "an entry has"},
	{"{'do': 'list', 'serial': 7, 'entries': [{'to': 'a.b'}]}", EINVAL, "a.b, byte 3"},
	{"{'do': 'list', 'serial': 7, 'entries': [{'to': 'a.b:1', 'max-upload': -1}]}", EINVAL,
	 "an entry has"},
	{"{'do': 'list', 'serial': 7, 'entries': [{'to': 'a.b:1', 'tls': 1}]}", EINVAL,
	 "an entry has"},
	{"{'do': 'list', 'serial': 7, 'entries': [{'to': 'a.b:1', 'free': 1}]}", EINVAL,
	 "an entry has"},
	{"{'do': 'grant', 'serial': 7, 'lease': 1, 'for-ms': 0}", EINVAL, "for-ms"},
	{"{'do': 'grant', 'serial': 7, 'lease': 1, 'for-ms': 99999999999999}", EINVAL, "for-ms"},
	{"{'do': 'grant', 'serial': 7, 'lease': 1, 'only': []}", EINVAL, "only has"},
	{"{'do': 'grant', 'serial': 7, 'lease': 1, 'only': ['*']}", EINVAL,
	 "a name of the grant, byte 0"},
	{"{'do': 'grant', 'serial': 7, 'lease': 1, 'only': ['*.8.8.8.8']}", EINVAL,
	 "a name of the grant, byte 8"},
	{"{'do': 'adopt', 'serial': 7, 'names': [['198.18.0.9']]}", EINVAL, "a pair"},
	{"{'do': 'adopt', 'serial': 7, 'names': [['198.18.0', 'a.b']]}", EINVAL, "a pair's"},
	{"{'do': 'adopt', 'serial': 7, 'names': [['198.18.0.9', 'a..b']]}", EINVAL, "the name of"},
	{"{'do': 'adopt', 'serial': 7, 'names': [['10.0.0.1', 'a.b']]}", ERANGE, "10.0.0.1 of a.b"},
	{"{'do': 'adopt', 'serial': 7, 'names': [['198.18.0.1', 'a.b']]}", EEXIST,
	 "198.18.0.1 of a.b"},
	{"{'do': 'listen', 'serial': 7, 'netns': 1, 'sockets': ['relay']}", EINVAL,
	 "0 descriptors"},
	{"{'do': 'listen', 'serial': 7, 'netns': 1, 'sockets': []}", EINVAL, "0 sockets"},
	{"{'do': 'listen', 'serial': 7, 'netns': 0, 'sockets': []}", EINVAL, "no cookie"},
	{"{'do': 'configure', 'upstreams': [" MANY_TEXTS "], 'synthetic': '198.18.0.0/15',"
	 " 'connect-ms': 1, 'idle-ms': 1, 'total-ms': 1}",
	 EEXIST, "configured"},
};

/* What is wrong is said, and changes nothing. */
static void test_wrong(void **state)
{
	_cleanup_scene_ struct scene s = scene_start(CONNECT_MS);
	struct ports ports = compartment(&s, 7, API);

	(void)state;
	for (size_t i = 0; i < N_OF(wrong); i++) {
		int code = ask(&s, "%s", wrong[i].text);

		if (code != wrong[i].code || !strstr(field(s.answer, "error"), wrong[i].reason))
			fail_msg("%s: %d, %s", wrong[i].text, code, field(s.answer, "error"));
	}
	assert_int_equal(lookup(&ports, "api.example.com").address, SYNTHETIC + 1);
}

static const struct {
	const char *text;
	const char *reason;
} unconfigured[] = {
	{"{'do': 'open', 'serial': 8, 'compartment': 1, 'name': 'x'}", "not configured"},
	{"{'do': 'configure', 'upstreams': [], 'synthetic': '198.18.0.0/15', 'connect-ms': 1,"
	 " 'idle-ms': 1, 'total-ms': 1}",
	 "0 resolvers"},
	{"{'do': 'configure', 'upstreams': [" MANY_TEXTS "], 'synthetic': '198.18.0.0/15',"
	 " 'connect-ms': 1, 'idle-ms': 1, 'total-ms': 1}",
	 "9 resolvers"},
	{"{'do': 'configure', 'upstreams': ['dns.google'], 'synthetic': '198.18.0.0/15',"
	 " 'connect-ms': 1, 'idle-ms': 1, 'total-ms': 1}",
	 "dns.google is no resolver"},
	{"{'do': 'configure', 'upstreams': ['198.19.0.1@53'], 'synthetic': '198.18.0.0/15',"
	 " 'connect-ms': 1, 'idle-ms': 1, 'total-ms': 1}",
	 "198.19.0.1@53 is a synthetic address"},
	{"{'do': 'configure', 'upstreams': ['9.9.9.9'], 'synthetic': 'all', 'connect-ms': 1,"
	 " 'idle-ms': 1, 'total-ms': 1}",
	 "all"},
	{"{'do': 'configure', 'upstreams': ['9.9.9.9'], 'synthetic': '198.18.0.0/15',"
	 " 'nat64': ['x'], 'connect-ms': 1, 'idle-ms': 1, 'total-ms': 1}",
	 "x"},
	{"{'do': 'configure', 'upstreams': ['9.9.9.9'], 'synthetic': '198.18.0.0/15',"
	 " 'connect-ms': 120000, 'idle-ms': 1, 'total-ms': 1}",
	 "connect-ms is not"},
};

static void test_unconfigured(void **state)
{
	_cleanup_scene_ struct scene s = scene_start(0);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)state;
	for (size_t i = 0; i < N_OF(unconfigured); i++) {
		bool configures = strstr(unconfigured[i].text, "configure'") != NULL;

		if (!ask_fds(&s, &s.map, configures, "%s", unconfigured[i].text) ||
		    !strstr(field(s.answer, "error"), unconfigured[i].reason))
			fail_msg("%s: %s", unconfigured[i].text, field(s.answer, "error"));
	}
	/* Another file is no map. */
	assert_int_equal(ask_fds(&s, &null, 1, CONFIGURE, 1), EINVAL);
	assert_int_equal(ask_fds(&s, NULL, 0, CONFIGURE, 1), EINVAL);
	configure(&s, CONNECT_MS);
	assert_int_equal(ask_fds(&s, &s.map, 1, CONFIGURE, 1), EEXIST);
	close(null);
}

static size_t count_fds(pid_t pid)
{
	char path[64];
	_cleanup_closedir_ DIR *dir = NULL;
	size_t n = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	assert_non_null(dir);
	while (readdir(dir))
		n++;
	return n;
}

#define OPEN "{'do': 'open', 'serial': %d, 'compartment': 1, 'name': 'x'}"
#define LISTEN "{'do': 'listen', 'serial': 7, 'netns': %llu, 'sockets': [%s]}"

/* Descriptors too many, of another kind or elsewhere; none of them is kept. */
static void test_descriptors(void **state)
{
	_cleanup_scene_ struct scene s = scene_start(CONNECT_MS);
	unsigned long long netns = s.netns;
	int fds[5];
	size_t before;
	__u16 port;
	char *huge;

	(void)state;
	fds[0] = loopback_socket(AF_INET, SOCK_STREAM, &port);
	fds[1] = loopback_socket(AF_INET, SOCK_DGRAM, &port);
	fds[2] = loopback_socket(AF_INET6, SOCK_DGRAM, &port);
	fds[3] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	fds[4] = open("/dev/null", O_RDWR | O_CLOEXEC);
	open_compartment(&s, 7);
	/* Answered first, and closed then. */
	must(&s, "{'do': 'ping'}");
	before = count_fds(s.egressd);

	assert_int_equal(ask_fds(&s, fds, 4, LISTEN, netns, "'relay'"), EMSGSIZE);
	assert_int_equal(ask_fds(&s, fds, 2, LISTEN, netns, "'relay'"), EINVAL);
	assert_int_equal(ask_fds(&s, fds, 1, LISTEN, netns, "'relay', 'stub4'"), EINVAL);
	assert_int_equal(ask_fds(&s, fds, 2, LISTEN, netns, "'relay', 'relay'"), EINVAL);
	assert_int_equal(ask_fds(&s, fds, 1, LISTEN, netns, "'door'"), EINVAL);
	assert_int_equal(ask_fds(&s, fds, 2, LISTEN, netns, "'stub4', 'relay'"), EINVAL);
	assert_int_equal(ask_fds(&s, fds + 1, 2, LISTEN, netns, "'stub6', 'stub4'"), EINVAL);
	assert_int_equal(ask_fds(&s, fds + 3, 1, LISTEN, netns, "'stub4'"), EINVAL);
	assert_int_equal(ask_fds(&s, fds + 4, 1, LISTEN, netns, "'relay'"), EINVAL);
	assert_int_equal(ask_fds(&s, fds, 3, LISTEN, netns + 1, "'relay', 'stub4', 'stub6'"),
			 EINVAL);
	assert_string_equal(field(s.answer, "error"), "relay is of another network namespace");
	assert_int_equal(ask_fds(&s, fds, 1, "{'do': 'revoke', 'serial': 7}"), EINVAL);
	assert_int_equal(ask_fds(&s, fds, 1, OPEN, 7), EEXIST);
	assert_string_equal(field(s.answer, "error"), "it is open");
	assert_int_equal(ask_fds(&s, fds + 4, 1, OPEN, 8), ENODEV);
	assert_int_equal(ask_fds(&s, fds, 2, OPEN, 8), EINVAL);
	assert_int_equal(ask_fds(&s, fds, 1, "no"), EINVAL);
	huge = malloc(CHANNEL_MESSAGE + 1);
	memset(huge, ' ', CHANNEL_MESSAGE + 1);
	say_fds(&s, huge, CHANNEL_MESSAGE + 1, fds, 3);
	assert_int_equal(answered(&s), EMSGSIZE);
	free(huge);
	assert_int_equal(count_fds(s.egressd), before);

	assert_int_equal(ask_fds(&s, fds, 3, LISTEN, netns, "'relay', 'stub4', 'stub6'"), 0);
	assert_int_equal(count_fds(s.egressd), before + 3);
	assert_int_equal(ask_fds(&s, fds, 3, LISTEN, netns, "'relay', 'stub4', 'stub6'"), EEXIST);
	assert_int_equal(ask(&s, "{'do': 'unlisten', 'serial': 7, 'netns': %llu}", netns + 1),
			 ENOENT);
	assert_int_equal(count_fds(s.egressd), before + 3);
	must(&s, "{'do': 'unlisten', 'serial': 7, 'netns': %llu}", netns);
	assert_int_equal(count_fds(s.egressd), before);
	assert_int_equal(ask_fds(&s, fds, 3, LISTEN, netns, "'relay', 'stub4', 'stub6'"), 0);
	must(&s, "{'do': 'close', 'serial': 7}");
	assert_int_equal(count_fds(s.egressd), before);
	for (size_t i = 0; i < N_OF(fds); i++)
		close(fds[i]);
}

/* The longest list there may be. */
static void test_long_list(void **state)
{
	_cleanup_scene_ struct scene s = scene_start(CONNECT_MS);
	char label[64], name[512];
	json_t *entries = json_array(), *all;
	_cleanup_free_ char *text = NULL;

	(void)state;
	open_compartment(&s, 7);
	memset(label, 'x', 63);
	label[63] = '\0';
	for (int i = 0; i < BH_MAX_DESTINATIONS; i++) {
		snprintf(name, sizeof(name),
			 "%.63s.%.63s.%.63s.%.54s.c%03d:20001,20002,20003,20004,20005", label,
			 label, label, label, i);
		json_array_append_new(entries,
				      json_pack("{s:s, s:I, s:b}", "to", name, "max-upload",
						(json_int_t)1 << 60, "tls", 1));
	}
	all = json_pack("{s:s, s:i, s:o}", "do", "list", "serial", 7, "entries", entries);
	text = json_dumps(all, 0);
	say_fds(&s, text, strlen(text), NULL, 0);
	assert_int_equal(answered(&s), 0);
	json_decref(all);
}

/* --- answers --- */

/* From each way in. */
static void check_lookup(const struct ports *ports, const char *name, int rcode, int error)
{
	struct learnt four = lookup(ports, name),
		      six = lookup_by(AF_INET6, ports->stub6, name, LDNS_RR_TYPE_A);

	if (four.rcode != rcode || four.error != error)
		fail_msg("%s: RCODE %d, EDE %d", name, four.rcode, four.error);
	assert_memory_equal(&four, &six, sizeof(four));
}

static void expect_gave(struct scene *s, const char *address, const char *name)
{
	json_t *gave = find_said(s, "gave", "", "", WAIT_MS), *pair;

	assert_non_null(gave);
	assert_int_equal(number(gave, "serial"), 7);
	pair = json_array_get(json_object_get(gave, "names"), 0);
	if (address)
		assert_string_equal(json_string_value(json_array_get(pair, 0)), address);
	assert_string_equal(json_string_value(json_array_get(pair, 1)), name);
	json_decref(gave);
}

static void test_answers(void **state)
{
	_cleanup_scene_ struct scene s = scene_start(CONNECT_MS);
	struct ports ports = compartment(&s, 7, API ", {'to': '*.cdn.example.com:8443'}");
	json_t *event;

	(void)state;
	assert_int_equal(lookup(&ports, "api.example.com").address, SYNTHETIC + 1);
	expect_gave(&s, "198.18.0.1", "api.example.com");
	check_lookup(&ports, "one.cdn.example.com", LDNS_RCODE_NOERROR, -1);
	assert_true(lookup(&ports, "one.cdn.example.com").address);
	expect_gave(&s, NULL, "one.cdn.example.com");
	assert_int_equal(
		lookup_by(AF_INET, ports.stub4, "api.example.com", LDNS_RR_TYPE_HTTPS).address, 0);
	/* Nobody was refused yet. */
	assert_null(find_said(&s, "event", "query", "", 0));

	check_lookup(&ports, "www.example.com", LDNS_RCODE_NXDOMAIN, LDNS_EDE_BLOCKED);
	event = event_of(&s, "query", "unlisted", "www.example.com");
	assert_string_equal(field(event, "type"), "A");
	json_decref(event);
	lookup_by(AF_INET, ports.stub4, "www.example.com", LDNS_RR_TYPE_HTTPS);
	event = event_of(&s, "query", "unlisted", "www.example.com");
	assert_string_equal(field(event, "type"), "HTTPS");
	json_decref(event);

	must(&s, "{'do': 'revoke', 'serial': 7}");
	check_lookup(&ports, "api.example.com", LDNS_RCODE_NXDOMAIN, LDNS_EDE_PROHIBITED);
	expect(&s, "query", "ungranted", "api.example.com");
	must(&s, "{'do': 'grant', 'serial': 7, 'lease': 1, 'only': ['*.cdn.example.com']}");
	check_lookup(&ports, "api.example.com", LDNS_RCODE_NXDOMAIN, LDNS_EDE_PROHIBITED);
	check_lookup(&ports, "one.cdn.example.com", LDNS_RCODE_NOERROR, -1);
	must(&s, "{'do': 'grant', 'serial': 7, 'lease': 1, 'only': ['api.example.com'], 'for-ms': "
		 "60000}");
	check_lookup(&ports, "api.example.com", LDNS_RCODE_NOERROR, -1);
	check_lookup(&ports, "one.cdn.example.com", LDNS_RCODE_NXDOMAIN, LDNS_EDE_PROHIBITED);
}

/* What an earlier process gave is given again, and is no news. */
static void test_adopted(void **state)
{
	_cleanup_scene_ struct scene s = scene_start(CONNECT_MS);
	struct ports ports;

	(void)state;
	open_compartment(&s, 7);
	must(&s, "{'do': 'adopt', 'serial': 7, 'names': [['198.18.0.77', 'api.example.com']]}");
	must(&s, "{'do': 'list', 'serial': 7, 'entries': [" API "]}");
	must(&s, "{'do': 'grant', 'serial': 7, 'lease': 1}");
	ports = listen_for(&s, 7);
	assert_int_equal(lookup(&ports, "api.example.com").address, SYNTHETIC + 77);
	assert_null(find_said(&s, "gave", "", "", 50));
}

/* No address is left: that is told, too; what was given is found still. */
static void test_exhausted(void **state)
{
	_cleanup_scene_ struct scene s = scene_start(0);
	struct ports ports;
	char name[64];
	__u32 first;
	int given = 1;

	(void)state;
	assert_int_equal(ask_fds(&s, &s.map, 1,
				 "{'do': 'configure', 'upstreams': ['" NAMESERVER "'],"
				 " 'synthetic': '198.18.0.0/24', 'connect-ms': 1000,"
				 " 'idle-ms': 1000, 'total-ms': 1000}"),
			 0);
	ports = compartment(&s, 7, "{'to': '*.cdn.example.com:8443'}");
	first = address_of(&ports, "n0.cdn.example.com");
	for (; given < 256; given++) {
		snprintf(name, sizeof(name), "n%d.cdn.example.com", given);
		if (!lookup(&ports, name).address)
			break;
	}
	/* The upper half, but for its last two. */
	assert_int_equal(given, 126);
	check_lookup(&ports, name, LDNS_RCODE_NXDOMAIN, LDNS_EDE_PROHIBITED);
	expect(&s, "query", "exhausted", name);
	assert_int_equal(address_of(&ports, "n0.cdn.example.com"), first);
}

/* What repeats is told together, with its number. */
static void test_folded(void **state)
{
	_cleanup_scene_ struct scene s = scene_start(CONNECT_MS);
	struct ports ports = compartment(&s, 7, API);
	json_t *event;

	(void)state;
	for (int i = 0; i < 100; i++)
		lookup(&ports, "www.example.com");
	event = event_of(&s, "query", "unlisted", "www.example.com");
	assert_null(json_object_get(event, "count"));
	json_decref(event);
	event = event_of(&s, "query", "unlisted", "www.example.com");
	assert_int_equal(number(event, "count"), 99);
	json_decref(event);
}

/* --- DNS over TCP --- */

static void send_framed(int fd, const __u8 *query, size_t n)
{
	__u8 framed[2 + 512] = {(__u8)(n >> 8), (__u8)n};

	memcpy(framed + 2, query, n);
	assert_int_equal(send(fd, framed, 2 + n, MSG_NOSIGNAL), 2 + n);
}

static struct learnt recv_framed(int fd)
{
	__u8 length[2], wire[1024];
	size_t n;

	assert_int_equal(recv(fd, length, 2, MSG_WAITALL), 2);
	n = (size_t)(length[0] << 8 | length[1]);
	assert_true(n && n <= sizeof(wire));
	assert_int_equal(recv(fd, wire, n, MSG_WAITALL), n);
	return read_answer(wire, n);
}

static void test_tcp_queries(void **state)
{
	_cleanup_scene_ struct scene s = scene_start(CONNECT_MS);
	struct ports ports = compartment(&s, 7, API);
	_cleanup_close_ int fd = connect_as(&s, &ports, 7, 0, 53);
	__u8 yes[512], no[512];
	size_t nyes = write_query("api.example.com", LDNS_RR_TYPE_A, yes, sizeof(yes)),
	       nno = write_query("www.example.com", LDNS_RR_TYPE_A, no, sizeof(no));

	(void)state;
	/* Byte by byte, then many that do not wait. */
	for (size_t i = 0; i < nyes + 2; i++) {
		__u8 byte = i == 0 ? (__u8)(nyes >> 8) : i == 1 ? (__u8)nyes : yes[i - 2];

		assert_int_equal(send(fd, &byte, 1, MSG_NOSIGNAL), 1);
	}
	assert_int_equal(recv_framed(fd).address, SYNTHETIC + 1);
	for (int i = 0; i < 200; i++)
		send_framed(fd, i % 2 ? no : yes, i % 2 ? nno : nyes);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	for (int i = 0; i < 200; i++)
		assert_int_equal(recv_framed(fd).rcode,
				 i % 2 ? LDNS_RCODE_NXDOMAIN : LDNS_RCODE_NOERROR);
	assert_int_equal(how_it_ends(fd), 0);
	expect(&s, "query", "unlisted", "www.example.com");
}

/* Who does not read is not read from; a length of nothing, or of too much, is no query. */
static void test_tcp_bounds(void **state)
{
	_cleanup_scene_ struct scene s = scene_start(CONNECT_MS);
	struct ports ports = compartment(&s, 7, API);
	__u8 yes[512];
	size_t n = write_query("api.example.com", LDNS_RR_TYPE_A, yes, sizeof(yes)), queries = 0;
	int fds[EGRESSD_TCP_QUERIES + 1], size = 4096;

	(void)state;
	for (size_t i = 0; i < N_OF(fds); i++) {
		fds[i] = connect_as(&s, &ports, 7, 0, 53);
		if (i < EGRESSD_TCP_QUERIES) {
			send_framed(fds[i], yes, n);
			assert_int_equal(recv_framed(fds[i]).address, SYNTHETIC + 1);
		}
	}
	assert_int_equal(how_it_ends(fds[EGRESSD_TCP_QUERIES]), -ECONNRESET);
	expect(&s, "connect", "too many", "");
	assert_int_equal(send(fds[0], "\0\0", 2, MSG_NOSIGNAL), 2);
	assert_int_equal(how_it_ends(fds[0]), -ECONNRESET);
	assert_int_equal(send(fds[1], "\x20\0", 2, MSG_NOSIGNAL), 2);
	assert_int_equal(how_it_ends(fds[1]), -ECONNRESET);
	setsockopt(fds[2], SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	assert_int_equal(fcntl(fds[2], F_SETFL, O_NONBLOCK), 0);
	for (int quiet = 0; quiet < 20; queries++) {
		__u8 framed[2 + 512] = {(__u8)(n >> 8), (__u8)n};

		memcpy(framed + 2, yes, n);
		if (send(fds[2], framed, 2 + n, MSG_NOSIGNAL) == (ssize_t)(2 + n)) {
			quiet = 0;
			continue;
		}
		quiet++;
		usleep(10000);
	}
	/* Others are answered meanwhile. */
	send_framed(fds[3], yes, n);
	assert_int_equal(recv_framed(fds[3]).address, SYNTHETIC + 1);
	assert_int_equal(lookup(&ports, "api.example.com").address, SYNTHETIC + 1);
	for (size_t i = 0; i < N_OF(fds); i++)
		close(fds[i]);
}

/* --- the relay --- */

static void test_flow(void **state)
{
	_cleanup_scene_ struct scene s = scene_start(CONNECT_MS);
	struct ports ports = compartment(&s, 7, API ", {'to': 'six.example.com:8443'}");
	struct talk talk = talk_start(&s, &ports, 7, "api.example.com");
	json_t *event;

	(void)state;
	/* Each end says its own. */
	assert_int_equal(shutdown(talk.client, SHUT_WR), 0);
	assert_int_equal(how_it_ends(talk.server), 0);
	carry(talk.server, talk.client, "more");
	close(talk.server);
	assert_int_equal(how_it_ends(talk.client), 0);
	close(talk.client);
	event = event_of(&s, "flow", "ended", "api.example.com");
	assert_int_equal(number(event, "serial"), 7);
	assert_int_equal(number(event, "port"), SERVER_PORT);
	assert_string_equal(field(event, "address"), "8.8.8.8");
	assert_int_equal(number(event, "up"), 5);
	assert_int_equal(number(event, "down"), 11);
	json_decref(event);

	talk = talk_start(&s, &ports, 7, "six.example.com");
	talk_end(&talk);
	event = find_said(&s, "event", "flow", "reset", 100)
			?: event_of(&s, "flow", "ended", "six.example.com");
	assert_string_equal(field(event, "address"), "2001:4860::8");
	json_decref(event);
}

static void expect_refused(struct scene *s, int fd, const char *outcome, const char *name)
{
	assert_int_equal(how_it_ends(fd), -ECONNRESET);
	close(fd);
	expect(s, "connect", outcome, name);
}

#define ROWS                                                                          \
	API ", {'to': 'private.example.com:8443'}, {'to': 'mixed.example.com:8443'}," \
	    " {'to': 'silent.example.com:8443'}, {'to': 'no.example.com:8443'},"      \
	    " {'to': 'x.slow.example.com:8443'}, {'to': 'api.example.com:8444'},"     \
	    " {'to': '*.example.com:8444'}, {'to': 'many.example.com:8443'}"

static const struct {
	const char *name;
	__u16 port;
	const char *outcome;
} refusals[] = {
	{"api.example.com", 443, "port not listed"},
	{"private.example.com", 8443, "bad address"},
	{"mixed.example.com", 8443, "bad address"},
	{"no.example.com", 8443, "not resolved"},
	/* Cut in UDP, so asked again by TCP. */
	{"many.example.com", 8443, "bad address"},
	{"api.example.com", 8444, "not connected"},
	{"silent.example.com", 8443, "out of time"},
	/* A wildcard's port counts for a name that is written out, too. */
	{"private.example.com", 8444, "bad address"},
};

static void test_refusals(void **state)
{
	_cleanup_scene_ struct scene s = scene_start(SHORT_MS);
	struct ports ports = compartment(&s, 7, ROWS);
	__u32 api = address_of(&ports, "api.example.com");
	struct talk talk;

	compartment(&s, 9, API);
	(void)state;
	for (size_t i = 0; i < N_OF(refusals); i++)
		expect_refused(&s, connect_to(&s, &ports, 7, refusals[i].name, refusals[i].port),
			       refusals[i].outcome, refusals[i].name);
	/* Of which the kernel knows nothing, or of nobody; that stands for no name. */
	expect_refused(&s, connect_as(&s, &ports, 0, api, SERVER_PORT), "unknown client", "");
	expect_refused(&s, connect_as(&s, &ports, 8, api, SERVER_PORT), "unknown client", "");
	/* Of another compartment, which has a relay of its own. */
	expect_refused(&s, connect_as(&s, &ports, 9, api, SERVER_PORT), "unknown client", "");
	expect_refused(&s, connect_as(&s, &ports, 7, SYNTHETIC + 4711, SERVER_PORT),
		       "unnamed address", "");
	/* An entry is for one connection. */
	talk = talk_start(&s, &ports, 7, "api.example.com");
	talk_end(&talk);

	must(&s, "{'do': 'revoke', 'serial': 7}");
	expect_refused(&s, connect_as(&s, &ports, 7, api, SERVER_PORT), "ungranted",
		       "api.example.com");
	must(&s, "{'do': 'grant', 'serial': 7, 'lease': 1, 'only': ['six.example.com']}");
	expect_refused(&s, connect_as(&s, &ports, 7, api, SERVER_PORT), "ungranted",
		       "api.example.com");
	must(&s, "{'do': 'list', 'serial': 7, 'entries': []}");
	must(&s, "{'do': 'grant', 'serial': 7, 'lease': 1}");
	expect_refused(&s, connect_as(&s, &ports, 7, api, SERVER_PORT), "unlisted",
		       "api.example.com");
	must(&s, "{'do': 'list', 'serial': 7, 'entries': [" API "]}");
	/* The folded ones' window does not hide that it works. */
	talk = talk_start(&s, &ports, 7, "api.example.com");
	talk_end(&talk);
}

/* Each takes its connections away; a talk that goes on is the positive control. */
static void test_cuts(void **state)
{
	static const struct {
		const char *text;
	} cuts[] = {
		{"{'do': 'revoke', 'serial': 7}"},
		{"{'do': 'grant', 'serial': 7, 'lease': 1, 'only': ['one.cdn.example.com']}"},
		{"{'do': 'grant', 'serial': 7, 'lease': 1, 'for-ms': 200}"},
		{"{'do': 'list', 'serial': 7, 'entries': [{'to': 'api.example.com:443'}]}"},
		{"{'do': 'list', 'serial': 7, 'entries': [{'to': '*.cdn.example.com:8443'}]}"},
		{"{'do': 'close', 'serial': 7}"},
	};
	_cleanup_scene_ struct scene s = scene_start(CONNECT_MS);
	struct ports ports = compartment(&s, 7, API), others = {0};
	_cleanup_talk_ struct talk other = {0};

	(void)state;
	others = compartment(&s, 9, API);
	other = talk_start(&s, &others, 9, "api.example.com");
	for (size_t i = 0; i < N_OF(cuts); i++) {
		_cleanup_talk_ struct talk talk = {0};

		must(&s, "{'do': 'list', 'serial': 7, 'entries': [" API "]}");
		must(&s, "{'do': 'grant', 'serial': 7, 'lease': 1}");
		talk = talk_start(&s, &ports, 7, "api.example.com");
		/* What is listed and granted still goes on. */
		must(&s, "{'do': 'list', 'serial': 7, 'entries': [" API
			 ", {'to': '*.cdn.example.com:8443'}]}");
		must(&s, "{'do': 'grant', 'serial': 7, 'lease': 1, 'only': ['api.example.com']}");
		carry(talk.client, talk.server, "still here");
		must(&s, "%s", cuts[i].text);
		expect_cut(&talk);
		expect(&s, "flow", "cut", "api.example.com");
	}
	carry(other.client, other.server, "still here");
}

/* Its half is heard again by who asks anew. */
static void test_cut_while_dialling(void **state)
{
	_cleanup_scene_ struct scene s = scene_start(CONNECT_MS);
	struct ports ports = compartment(
		&s, 7, "{'to': 'silent.example.com:8443'}, {'to': 'x.slow.example.com:8443'}");
	int dials = connect_to(&s, &ports, 7, "silent.example.com", SERVER_PORT),
	    asks = connect_to(&s, &ports, 7, "x.slow.example.com", SERVER_PORT);

	(void)state;
	usleep(200000);
	must(&s, "{'do': 'revoke', 'serial': 7}");
	assert_int_equal(how_it_ends(dials), -ECONNRESET);
	assert_int_equal(how_it_ends(asks), -ECONNRESET);
	json_decref(find_said(&s, "event", "connect", "cut", WAIT_MS));
	json_decref(find_said(&s, "event", "connect", "cut", WAIT_MS));
	close(dials);
	close(asks);
	must(&s, "{'do': 'grant', 'serial': 7, 'lease': 1}");
	dials = connect_to(&s, &ports, 7, "silent.example.com", SERVER_PORT);
	close(dials);
	expect(&s, "connect", "hung up", "silent.example.com");
}

/* Half an end goes through, whenever it came. */
static void test_early_end(void **state)
{
	_cleanup_scene_ struct scene s = scene_start(CONNECT_MS);
	struct ports ports = compartment(&s, 7, API);
	int fd = connect_to(&s, &ports, 7, "api.example.com", SERVER_PORT), server;
	char got[8];

	(void)state;
	assert_int_equal(send(fd, "all", 3, MSG_NOSIGNAL), 3);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	server = world_accept(&s);
	assert_int_equal(recv(server, got, sizeof(got), MSG_WAITALL), 3);
	carry(server, fd, "answer");
	close(server);
	assert_int_equal(how_it_ends(fd), 0);
	close(fd);
}

/* Where it listens no more nobody comes to, and who came goes on. */
static void test_unlisten(void **state)
{
	_cleanup_scene_ struct scene s = scene_start(CONNECT_MS);
	struct ports ports = compartment(&s, 7, API);
	struct talk talk = talk_start(&s, &ports, 7, "api.example.com"), other;
	const struct sockaddr_in relay = {.sin_family = AF_INET,
					  .sin_port = htons(ports.relay),
					  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	_cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	must(&s, "{'do': 'unlisten', 'serial': 7, 'netns': %llu}", (unsigned long long)s.netns);
	assert_int_equal(connect(fd, (const void *)&relay, sizeof(relay)), -1);
	assert_int_equal(errno, ECONNREFUSED);
	carry(talk.client, talk.server, "goes on");
	ports = listen_for(&s, 7);
	other = talk_start(&s, &ports, 7, "api.example.com");
	talk_end(&other);
	talk_end(&talk);
}

/* --- what may be sent --- */

static void test_upload(void **state)
{
	_cleanup_scene_ struct scene s = scene_start(CONNECT_MS);
	struct ports ports = compartment(&s, 7,
					 "{'to': 'api.example.com:8443', 'max-upload': 12},"
					 " {'to': 'six.example.com:8443', 'max-upload': 5}");
	struct talk talk = talk_start(&s, &ports, 7, "api.example.com"), six;
	json_t *event;

	(void)state;
	carry(talk.client, talk.server, "more..");
	/* The twelfth byte may be sent, another may not. */
	assert_int_equal(send(talk.client, "12", 2, MSG_NOSIGNAL), 2);
	expect_cut(&talk);
	event = event_of(&s, "flow", "over its upload allowance", "api.example.com");
	assert_in_range(number(event, "up"), 11, 12);
	json_decref(event);
	talk_end(&talk);
	/* It is the entry's, for the compartment's life. */
	expect_refused(&s, connect_to(&s, &ports, 7, "api.example.com", SERVER_PORT),
		       "over its upload allowance", "api.example.com");
	must(&s, "{'do': 'list', 'serial': 7, 'entries': []}");
	must(&s, "{'do': 'list', 'serial': 7, 'entries': ["
		 "{'to': 'api.example.com:8443', 'max-upload': 12},"
		 " {'to': 'six.example.com:8443', 'max-upload': 5}]}");
	close(connect_to(&s, &ports, 7, "api.example.com", SERVER_PORT));
	event = event_of(&s, "connect", "over its upload allowance", "api.example.com");
	json_decref(event);
	/* Another entry has its own. */
	six = talk_start(&s, &ports, 7, "six.example.com");
	talk_end(&six);
	must(&s, "{'do': 'list', 'serial': 7, 'entries': ["
		 "{'to': 'api.example.com:8443', 'max-upload': 17}]}");
	talk = talk_start(&s, &ports, 7, "api.example.com");
	talk_end(&talk);
}

/* What was sent counts for the relays that follow: until it is granted anew. */
static void test_upload_counts_on(void **state)
{
	static const char entries[] = "{'to': 'api.example.com:8443', 'max-upload': 12}";
	_cleanup_scene_ struct scene s = scene_start(CONNECT_MS);
	_cleanup_close_ int spent = spent_file();
	struct ports ports = compartment_counted(&s, 7, spent, 1, entries);
	struct talk talk = talk_start(&s, &ports, 7, "api.example.com");
	json_t *event;

	(void)state;
	carry(talk.client, talk.server, "more..");
	egressd_replace(&s);
	talk_end(&talk);
	configure(&s, CONNECT_MS);
	ports = compartment_counted(&s, 7, spent, 1, entries);
	talk.client = connect_to(&s, &ports, 7, "api.example.com", SERVER_PORT);
	talk.server = world_accept(&s);
	assert_int_equal(send(talk.client, "12", 2, MSG_NOSIGNAL), 2);
	expect_cut(&talk);
	talk_end(&talk);
	event = event_of(&s, "flow", "over its upload allowance", "api.example.com");
	assert_in_range(number(event, "up"), 0, 1);
	json_decref(event);
	egressd_replace(&s);
	configure(&s, CONNECT_MS);
	ports = compartment_counted(&s, 7, spent, 1, entries);
	expect_refused(&s, connect_to(&s, &ports, 7, "api.example.com", SERVER_PORT),
		       "over its upload allowance", "api.example.com");
	/* The same grant again is none, another is. */
	must(&s, "{'do': 'grant', 'serial': 7, 'lease': 1, 'for-ms': 60000}");
	expect_refused(&s, connect_to(&s, &ports, 7, "api.example.com", SERVER_PORT),
		       "over its upload allowance", "api.example.com");
	must(&s, "{'do': 'grant', 'serial': 7, 'lease': 2}");
	talk = talk_start(&s, &ports, 7, "api.example.com");
	carry(talk.client, talk.server, "more..");
	talk_end(&talk);
}

/* --- TLS --- */

static void test_tls(void **state)
{
	_cleanup_scene_ struct scene s = scene_start(SHORT_MS);
	struct ports ports = compartment(&s, 7,
					 "{'to': 'api.example.com:8443', 'tls': true}, " API
					 ", {'to': 'six.example.com:8443', 'tls': false}");
	__u8 hello[512], got[512];
	size_t n = write_hello("api.example.com", hello);
	struct talk talk = {.client = connect_to(&s, &ports, 7, "api.example.com", SERVER_PORT)};
	int fd;

	(void)state;
	/* In two segments, with more behind it. */
	assert_int_equal(send(talk.client, hello, 20, MSG_NOSIGNAL), 20);
	usleep(50000);
	assert_int_equal(send(talk.client, hello + 20, n - 20, MSG_NOSIGNAL), n - 20);
	talk.server = world_accept(&s);
	assert_int_equal(recv(talk.server, got, n, MSG_WAITALL), n);
	assert_memory_equal(got, hello, n);
	carry(talk.server, talk.client, "welcome");
	carry(talk.client, talk.server, "hello");
	talk_end(&talk);

	n = write_hello("www.example.com", hello);
	fd = connect_to(&s, &ports, 7, "api.example.com", SERVER_PORT);
	assert_int_equal(send(fd, hello, n, MSG_NOSIGNAL), n);
	expect_refused(&s, fd, "another server name", "api.example.com");
	fd = connect_to(&s, &ports, 7, "api.example.com", SERVER_PORT);
	assert_int_equal(send(fd, "GET / HTTP/1.1\r\n", 16, MSG_NOSIGNAL), 16);
	expect_refused(&s, fd, "no TLS", "api.example.com");
	n = write_hello("api.example.com", hello);
	hello[n - 16]++;
	fd = connect_to(&s, &ports, 7, "api.example.com", SERVER_PORT);
	assert_int_equal(send(fd, hello, n, MSG_NOSIGNAL), n);
	expect_refused(&s, fd, "malformed TLS", "api.example.com");
	fd = connect_to(&s, &ports, 7, "api.example.com", SERVER_PORT);
	expect_refused(&s, fd, "out of time", "api.example.com");
	fd = connect_to(&s, &ports, 7, "api.example.com", SERVER_PORT);
	close(fd);
	expect(&s, "connect", "hung up", "api.example.com");
	/* Where nobody asks for it, a server may speak first. */
	talk = talk_start(&s, &ports, 7, "six.example.com");
	talk_end(&talk);
}

/* --- bounds --- */

/* So many queries, of other names each time but for one in five. */
static void flood(int fd, unsigned int queries)
{
	__u8 query[512];
	size_t n = write_query("x000000.example.com", LDNS_RR_TYPE_A, query, sizeof(query));

	for (unsigned int i = 0; i < queries; i++) {
		char digits[8];

		snprintf(digits, sizeof(digits), "%06u", i % 5 ? i % 1000000 : 0);
		memcpy(query + 14, digits, 6);
		assert_int_equal(send(fd, query, n, 0), n);
	}
}

static unsigned int count_answers(int fd)
{
	__u8 answer[512];
	unsigned int n = 0;

	while (recv(fd, answer, sizeof(answer), MSG_DONTWAIT) > 0)
		n++;
	return n;
}

/* What the agent was told of it, all in all; *ret_events: in so many. */
static json_int_t count_told(struct scene *s, size_t *ret_events)
{
	json_int_t told = 0;
	json_t *said;

	for (*ret_events = 0; (said = find_said(s, "event", "query", "unlisted", 100));
	     ++*ret_events) {
		told += json_object_get(said, "count") ? number(said, "count") : 1;
		json_decref(said);
	}
	while ((said = find_said(s, "lost", "", "", 1500))) {
		told += number(said, "count");
		json_decref(said);
	}
	return told;
}

/* One compartment's flood is answered in turns: another's query, which came after all of it, is not behind it. */
static void test_flood(void **state)
{
	enum { FLOOD = 20000 };
	_cleanup_scene_ struct scene s = scene_start(CONNECT_MS);
	struct ports ports = compartment(&s, 7, API), others = compartment(&s, 9, API);
	_cleanup_close_ int fd = resolver_socket(AF_INET, ports.stub4),
			    other = resolver_socket(AF_INET, others.stub4);
	uint64_t began = clock_us();
	unsigned int seconds, answers;
	size_t events;
	__u8 wire[512];
	ssize_t n;

	(void)state;
	kill(s.egressd, SIGSTOP);
	flood(fd, FLOOD);
	n = (ssize_t)write_query("api.example.com", LDNS_RR_TYPE_A, wire, sizeof(wire));
	assert_int_equal(send(other, wire, (size_t)n, 0), n);
	kill(s.egressd, SIGCONT);
	n = recv(other, wire, sizeof(wire), 0);
	kill(s.egressd, SIGSTOP);
	answers = count_answers(fd);
	kill(s.egressd, SIGCONT);
	assert_true(n > 0);
	assert_int_equal(read_answer(wire, (size_t)n).address, SYNTHETIC + 1);
	assert_in_range(answers, 0, FLOOD / 4);
	while (answers < FLOOD && is_readable(fd, WAIT_MS))
		answers += count_answers(fd);
	assert_int_equal(answers, FLOOD);

	seconds = (unsigned int)((clock_us() - began) / 1000000) + 1;
	must(&s, "{'do': 'close', 'serial': 7}");
	/* Of each the agent was told, or that it was not; and of all in a few events. */
	assert_int_equal(count_told(&s, &events), FLOOD);
	assert_in_range(events, 1, FOLD_BURST + (FOLD_SECOND + FOLD_ROWS) * seconds + FOLD_ROWS);
}

/* An agent that does not read loses events and no names, and is not waited for. */
static void test_slow_agent(void **state)
{
	enum { NAMES = 3000 };
	_cleanup_scene_ struct scene s = scene_start(CONNECT_MS);
	struct ports ports = compartment(&s, 7, "{'to': '*.cdn.example.com:8443'}");
	size_t given = 0;
	json_int_t lost = 0;
	char name[64];
	json_t *said;

	(void)state;
	for (int i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "n%d.cdn.example.com", i);
		assert_true(lookup(&ports, name).address);
		snprintf(name, sizeof(name), "n%d.example.com", i);
		assert_int_equal(lookup(&ports, name).address, 0);
	}
	while (given < NAMES && (said = find_said(&s, "gave", "", "", WAIT_MS))) {
		given += json_array_size(json_object_get(said, "names"));
		json_decref(said);
	}
	assert_int_equal(given, NAMES);
	while ((said = find_said(&s, "lost", "", "", 1500))) {
		lost += number(said, "count");
		json_decref(said);
	}
	assert_true(lost > 0);
	must(&s, "{'do': 'close', 'serial': 7}");
}

/* A further connection is reset; once there is room one is not. */
static void test_many(void **state)
{
	_cleanup_scene_ struct scene s = scene_start(CONNECT_MS);
	struct ports ports = compartment(&s, 7, API);
	__u32 api = address_of(&ports, "api.example.com");
	static struct talk talks[EGRESSD_CLIENTS];
	struct talk talk;

	(void)state;
	for (size_t i = 0; i < N_OF(talks); i++) {
		talks[i].client = connect_as(&s, &ports, 7, api, SERVER_PORT);
		talks[i].server = world_accept(&s);
	}
	expect_refused(&s, connect_as(&s, &ports, 7, api, SERVER_PORT), "too many",
		       "api.example.com");
	for (size_t i = 0; i < N_OF(talks); i++)
		carry(talks[i].client, talks[i].server, "x");
	talk_end(&talks[0]);
	json_decref(find_said(&s, "event", "flow", "reset", 100)
			    ?: event_of(&s, "flow", "ended", "api.example.com"));
	talk = talk_start(&s, &ports, 7, "api.example.com");
	talk_end(&talk);
	for (size_t i = 1; i < N_OF(talks); i++)
		talk_end(&talks[i]);
}

/* One that takes all that it gets leaves some to others; and so do they. */
static void test_shared(void **state)
{
	static const size_t gets[] = {14, 9, 7, 5};
	static struct talk talks[40];
	struct scene s;
	size_t n = 0, had = 0;

	(void)state;
	/* For forty connections: twenty are shared. */
	egressd_files = 480;
	s = scene_start(CONNECT_MS);
	egressd_files = 0;
	for (int serial = 7; serial < 11; serial++) {
		struct ports ports = compartment(&s, serial, API);
		__u32 api = address_of(&ports, "api.example.com");
		json_t *event = NULL;

		for (had = n; n < N_OF(talks); n++) {
			talks[n].client = connect_as(&s, &ports, (__u64)serial, api, SERVER_PORT);
			if (!is_readable(s.server, 200))
				break;
			talks[n].server = world_accept(&s);
		}
		assert_true(n < N_OF(talks));
		assert_int_equal(how_it_ends(talks[n].client), -ECONNRESET);
		close(talks[n].client);
		event = event_of(&s, "connect", "too many", "api.example.com");
		assert_int_equal(number(event, "serial"), serial);
		json_decref(event);
		assert_int_equal(n - had, gets[serial - 7]);
	}
	/* What is free again is shared again. */
	while (n > 14) {
		talk_end(&talks[--n]);
		json_decref(find_said(&s, "event", "flow", "reset", 100)
				    ?: event_of(&s, "flow", "ended", "api.example.com"));
	}
	while (n)
		talk_end(&talks[--n]);
	scene_end(&s);
}

/* Names whose resolver says nothing do not use up what others ask by. */
static void test_many_questions(void **state)
{
	_cleanup_scene_ struct scene s = scene_start(SHORT_MS);
	struct ports ports = compartment(&s, 7, "{'to': '*.slow.example.com:8443'}, " API), others;
	struct talk talk;
	int fds[ASKING_EACH];
	char name[64];

	(void)state;
	others = compartment(&s, 9, API);
	for (size_t i = 0; i < N_OF(fds); i++) {
		snprintf(name, sizeof(name), "n%zu.slow.example.com", i);
		fds[i] = connect_to(&s, &ports, 7, name, SERVER_PORT);
	}
	for (size_t i = 0; i < N_OF(fds); i++) {
		assert_int_equal(how_it_ends(fds[i]), -ECONNRESET);
		close(fds[i]);
	}
	/* They go on inside the library. */
	expect_refused(&s, connect_to(&s, &ports, 7, "api.example.com", SERVER_PORT), "too many",
		       "api.example.com");
	talk = talk_start(&s, &others, 9, "api.example.com");
	talk_end(&talk);
}

/* Those that may be are cut off by their number, and then by others of one descriptor each. */
static size_t use_up(struct scene *s, const struct ports *ports, int fds[EGRESSD_TCP_QUERIES])
{
	__u8 query[512];
	size_t length = write_query("api.example.com", LDNS_RR_TYPE_A, query, sizeof(query));

	for (size_t n = 0; n < EGRESSD_TCP_QUERIES; n++) {
		fds[n] = connect_as(s, ports, 7, 0, 53);
		send_framed(fds[n], query, length);
		if (!is_readable(fds[n], 500))
			return n;
		assert_int_equal(recv_framed(fds[n]).address, SYNTHETIC + 1);
	}
	fail_msg("there are more descriptors");
	return 0;
}

static uint64_t cpu_us(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
	assert_int_equal(clock_gettime(clock, &t), 0);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* Without descriptors connections wait: nothing spins, and nothing is lost. */
static void test_no_descriptors(void **state)
{
	struct scene s;
	struct ports ports;
	struct talk talk;
	uint64_t used_us;
	int fds[EGRESSD_TCP_QUERIES];
	size_t n;

	(void)state;
	egressd_files = 24;
	s = scene_start(CONNECT_MS);
	egressd_files = 0;
	ports = compartment(&s, 7, API);
	talk = talk_start(&s, &ports, 7, "api.example.com");
	n = use_up(&s, &ports, fds);
	assert_true(n > 0);
	used_us = cpu_us(s.egressd);
	usleep(500000);
	carry(talk.client, talk.server, "still here");
	assert_in_range(cpu_us(s.egressd) - used_us, 0, 100000);
	close(fds[0]);
	assert_int_equal(recv_framed(fds[n]).address, SYNTHETIC + 1);
	for (size_t i = 1; i <= n; i++)
		close(fds[i]);
	talk_end(&talk);
	scene_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_privilege),
		cmocka_unit_test(test_no_agent),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_terminated),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_unconfigured),
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_long_list),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_adopted),
		cmocka_unit_test(test_exhausted),
		cmocka_unit_test(test_folded),
		cmocka_unit_test(test_tcp_queries),
		cmocka_unit_test(test_tcp_bounds),
		cmocka_unit_test(test_flow),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_cut_while_dialling),
		cmocka_unit_test(test_early_end),
		cmocka_unit_test(test_unlisten),
		cmocka_unit_test(test_upload),
		cmocka_unit_test(test_upload_counts_on),
		cmocka_unit_test(test_tls),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_slow_agent),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_many_questions),
		cmocka_unit_test(test_no_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
