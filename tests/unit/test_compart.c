// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the compartment layer reads from the kernel and from people, and how it compares names. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "compart/internal.h"

#define N_OF(array) (sizeof(array) / sizeof(*(array)))

/* Fields are found whatever number of tags stands between, and escapes are undone. */
static void test_mountinfo(void **state)
{
	static const struct {
		const char *line, *root, *point, *type;
		unsigned int id;
		bool has_path;
	} cases[] = {
		{"26 1 254:0 / / rw,relatime - ext4 /dev/vda rw", "/", "/", "ext4", 26, true},
		{"36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw", "/mnt1", "/mnt2",
		 "ext3", 36, true},
		{"36 35 98:0 /a /b rw shared:7 master:1 propagate_from:2 - ext3 x rw", "/a", "/b",
		 "ext3", 36, true},
		{"40 26 0:1 /a\\040b /c\\134d\\011e rw - tmpfs none rw", "/a b", "/c\\d\te",
		 "tmpfs", 40, true},
		{"41 26 0:4 mnt:[4026532211] /run/ns/x rw - nsfs nsfs rw", "mnt:[4026532211]",
		 "/run/ns/x", "nsfs", 41, false},
		{"42 26 0:5 / /proc/sys/fs/binfmt_misc rw - autofs systemd-1 rw", "/",
		 "/proc/sys/fs/binfmt_misc", "autofs", 42, false},
		{"43 26 0:6 /gone//deleted /mnt rw - tmpfs x rw", "/gone//deleted", "/mnt", "tmpfs",
		 43, false},
		/* A source that looks like the separator comes after it. */
		{"44 26 0:6 / /m rw - tmpfs - rw", "/", "/m", "tmpfs", 44, true},
	};

	(void)state;
	for (size_t i = 0; i < N_OF(cases); i++) {
		_cleanup_free_ char *line = strdup(cases[i].line);
		struct mountinfo m = {};

		assert_int_equal(mountinfo_parse(line, &m), 0);
		assert_int_equal(m.id, cases[i].id);
		assert_string_equal(m.root, cases[i].root);
		assert_string_equal(m.point, cases[i].point);
		assert_string_equal(m.type, cases[i].type);
		assert_int_equal(mountinfo_has_path(&m), cases[i].has_path);
	}
}

/* A line that is not one leaves nothing half understood. */
static void test_mountinfo_bad(void **state)
{
	static const char *const lines[] = {
		"",
		"26",
		"x 1 254:0 / / rw - ext4 a rw",
		"26 1 254:0 / / rw ext4 a rw",
		"26 1 254:0 / / rw -",
		"26x 1 254:0 / / rw - ext4 a rw",
		"26 1 254:0 / relative rw - ext4 a rw",
		"99999999999999 1 254:0 / / rw - ext4 a rw",
	};

	(void)state;
	for (size_t i = 0; i < N_OF(lines); i++) {
		_cleanup_free_ char *line = strdup(lines[i]);
		struct mountinfo m = {};

		assert_int_equal(mountinfo_parse(line, &m), -EINVAL);
		assert_null(m.root);
	}
}

/* The word of a table is that of what is mounted where, and of nothing else in it. */
static void test_mounts_digest(void **state)
{
	static const char known[] = "12\n22 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n"
				    "23 22 0:5 / /proc rw - proc proc rw\n";
	static const struct {
		const char *tables;
		bool same;
	} rows[] = {
		{"7\n31 1 8:1 / / ro - ext4 /dev/sda1 ro\n30 31 0:5 / /proc ro - proc proc ro\n",
		 true},
		{"7\n22 1 8:1 / / rw - ext4 a rw\n23 22 0:5 / /proc rw - proc proc rw\n"
		 "8\n1 1 8:1 / / rw - ext4 a rw\n2 1 0:5 / /proc rw - proc proc rw\n",
		 true},
		/* What no view shows: no path, to be mounted when it is looked at, gone. */
		{"7\n22 1 8:1 / / rw - ext4 a rw\n24 22 0:4 net:[402] /run/netns/a rw - nsfs nsfs "
		 "rw\n"
		 "25 22 0:6 / /boot rw - autofs a rw\n26 22 8:1 /a//deleted /b rw - ext4 a rw\n"
		 "23 22 0:5 / /proc rw - proc proc rw\n",
		 true},
		/* Another is the upper one. */
		{"7\n23 22 0:5 / /proc rw - proc proc rw\n22 1 8:1 / / rw - ext4 a rw\n", false},
		{"12\n22 1 8:1 / / rw - ext4 a rw\n", false},
		{"12\n22 1 8:1 / / rw - ext4 a rw\n23 22 0:6 / /proc rw - proc proc rw\n", false},
		{"12\n22 1 8:1 / / rw - ext4 a rw\n23 22 0:5 /1 /proc rw - proc proc rw\n", false},
		{"12\n22 1 8:1 / / rw - ext4 a rw\n23 22 0:5 / /proc2 rw - proc proc rw\n", false},
		{"12\n22 1 8:1 / / rw - ext4 a rw\n23 22 0:5 / /proc rw - proc proc rw\n"
		 "24 22 8:1 /srv /mnt\\0401 rw - ext4 a rw\n",
		 false},
		{"", false},
	};
	char word[MOUNTS_DIGEST_SIZE], other[MOUNTS_DIGEST_SIZE];

	(void)state;
	assert_int_equal(mounts_digest(known, word), 0);
	assert_int_equal(strlen(word), MOUNTS_DIGEST_SIZE - 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(mounts_digest(rows[i].tables, other), 0);
		assert_int_equal(strcmp(word, other) == 0, rows[i].same);
	}
	/* Fewer fields than it is about; the next line is not read for them. */
	assert_int_equal(mounts_digest("12\n22 1 8:1 / /\n23 22 0:5 / /proc rw - proc proc rw\n",
				       other),
			 -EINVAL);
}

/* This host's own table parses. */
static void test_mountinfo_here(void **state)
{
	_cleanup_free_ char *text = NULL;
	char *save = NULL;
	size_t n = 0;

	(void)state;
	assert_int_equal(text_read("/proc/self/mountinfo", BH_MAX_MOUNT_BYTES, &text, NULL), 0);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct mountinfo m = {};

		assert_int_equal(mountinfo_parse(line, &m), 0);
		n++;
	}
	assert_true(n > 0);
}

/* The longest root wins; a root is a whole component; the superblock counts. */
static void test_translate(void **state)
{
	struct mount_view views[] = {
		{.sbid = 1, .root = "/", .point = "/"},
		{.sbid = 1, .root = "/srv/data", .point = "/data"},
		{.sbid = 2, .root = "/", .point = "/home"},
		{.sbid = 3, .root = "/only/this", .point = "/"},
	};
	const struct mounts mounts = {.views = views, .n = N_OF(views)};
	static const struct {
		__u32 sbid;
		const char *path, *want; /* NULL: -ENOENT */
	} cases[] = {
		{1, "/", "/"},
		{1, "/etc/passwd", "/etc/passwd"},
		{1, "/srv/data", "/data"},
		{1, "/srv/data/x", "/data/x"},
		{1, "/srv/database", "/srv/database"},
		{2, "/", "/home"},
		{2, "/me/f", "/home/me/f"},
		{3, "/only/this", "/"},
		{3, "/only/this/f", "/f"},
		{3, "/only/that", NULL},
		{4, "/x", NULL},
	};
	char buffer[64];

	(void)state;
	for (size_t i = 0; i < N_OF(cases); i++) {
		int r = mounts_translate(&mounts, cases[i].sbid, cases[i].path,
					 strlen(cases[i].path), buffer, sizeof(buffer));

		assert_int_equal(r, cases[i].want ? 0 : -ENOENT);
		if (cases[i].want)
			assert_string_equal(buffer, cases[i].want);
	}
	assert_int_equal(mounts_translate(&mounts, 2, "/me/f", 5, buffer, 10), -ENAMETOOLONG);
	/* A path is as long as it is said to be, not up to a NUL. */
	assert_int_equal(mounts_translate(&mounts, 2, "/me/file", 3, buffer, sizeof(buffer)), 0);
	assert_string_equal(buffer, "/home/me");
}

static void test_maps(void **state)
{
	static const struct {
		const char *line, *path;
		unsigned int bits;
		enum mapping_kind kind;
	} cases[] = {
		{"7f00-7f10 r-xp 00001000 fe:00 1234                      /usr/lib/x.so\n",
		 "/usr/lib/x.so", MAPPING_READ | MAPPING_EXEC, MAPPING_FILE},
		{"7f00-7f10 rw-s 00000000 fe:00 12 /a b\n", "/a b",
		 MAPPING_READ | MAPPING_WRITE | MAPPING_SHARED, MAPPING_FILE},
		{"7f00-7f10 rw-p 00000000 00:00 0 \n", "", MAPPING_READ | MAPPING_WRITE,
		 MAPPING_NAMELESS},
		{"7f00-7f10 rwxp 00000000 00:00 0", "", MAPPING_READ | MAPPING_WRITE | MAPPING_EXEC,
		 MAPPING_NAMELESS},
		{"7f00-7f10 rw-p 00000000 00:00 0 [heap]\n", "[heap]", MAPPING_READ | MAPPING_WRITE,
		 MAPPING_NAMELESS},
		/* A name given by prctl is no name of the kernel's. */
		{"7f00-7f10 r-xp 00000000 00:00 0 [anon:vdso]\n", "[anon:vdso]",
		 MAPPING_READ | MAPPING_EXEC, MAPPING_NAMELESS},
		{"7f00-7f10 r-xp 00000000 00:00 0 [vdso]\n", "[vdso]", MAPPING_READ | MAPPING_EXEC,
		 MAPPING_KERNEL},
		{"7f00-7f10 r--p 00000000 00:00 0 [vvar_vclock]\n", "[vvar_vclock]", MAPPING_READ,
		 MAPPING_KERNEL},
		{"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n",
		 "[vsyscall]", MAPPING_EXEC, MAPPING_KERNEL},
		{"7f00-7f10 r-xp 00000000 00:01 5 /memfd:jit (deleted)\n", "/memfd:jit (deleted)",
		 MAPPING_READ | MAPPING_EXEC, MAPPING_MEMORY},
		{"7f00-7f10 rw-s 00000000 00:01 5 /dev/zero (deleted)\n", "/dev/zero (deleted)",
		 MAPPING_READ | MAPPING_WRITE | MAPPING_SHARED, MAPPING_MEMORY},
		{"7f00-7f10 r-xp 00000000 fe:00 5 /usr/lib/y.so (deleted)\n",
		 "/usr/lib/y.so (deleted)", MAPPING_READ | MAPPING_EXEC, MAPPING_DELETED},
		{"7f00-7f10 rw-s 00000000 00:0e 5 anon_inode:[io_uring]\n", "anon_inode:[io_uring]",
		 MAPPING_READ | MAPPING_WRITE | MAPPING_SHARED, MAPPING_OBJECT},
		{"7f00-7f10 rw-s 00000000 00:07 5 socket:[77]\n", "socket:[77]",
		 MAPPING_READ | MAPPING_WRITE | MAPPING_SHARED, MAPPING_OBJECT},
		/* The newline is escaped, the backslash is not. */
		{"7f00-7f10 r--p 00000000 fe:00 5 /a\\057b\n", "/a\\057b", MAPPING_READ,
		 MAPPING_FILE},
		{"7f00-7f10 r-xp 00000000 fe:00 5 /a\\012b\n", "/a\nb", MAPPING_READ | MAPPING_EXEC,
		 MAPPING_FILE},
	};

	(void)state;
	for (size_t i = 0; i < N_OF(cases); i++) {
		_cleanup_free_ char *line = strdup(cases[i].line);
		struct mapping m = {};

		assert_int_equal(mapping_parse(line, &m), 0);
		assert_string_equal(m.path, cases[i].path);
		assert_int_equal(m.bits, cases[i].bits);
		assert_int_equal(m.kind, cases[i].kind);
	}
}

static void test_maps_bad(void **state)
{
	static const char *const lines[] = {"", "7f00", "7f00-7f10", "7f00-7f10 rw 0 0:0 0",
					    "zz-yy r-xp 0 0:0 0 /x"};

	(void)state;
	for (size_t i = 0; i < N_OF(lines); i++) {
		_cleanup_free_ char *line = strdup(lines[i]);
		struct mapping m;

		assert_int_equal(mapping_parse(line, &m), -EINVAL);
	}
}

static void test_unit_names(void **state)
{
	static const struct {
		const char *name, *want; /* NULL: -EINVAL */
		bool template;
		const char *of; /* NULL: no instance */
	} cases[] = {
		{"nginx", "nginx.service", false, NULL},
		{"nginx.service", "nginx.service", false, NULL},
		{"my.app", "my.app.service", false, NULL},
		{"a@b.service", "a@b.service", false, "a@.service"},
		{"a@.service", "a@.service", true, NULL},
		{"a@", "a@.service", true, NULL},
		{"dev\\x2dx", "dev\\x2dx.service", false, NULL},
		{"", NULL, false, NULL},
		{".service", NULL, false, NULL},
		{"../../etc/x", NULL, false, NULL},
		{"a/b.service", NULL, false, NULL},
		{"a b", NULL, false, NULL},
		{"a\nb", NULL, false, NULL},
		{"@x", NULL, false, NULL},
		{"a@b@c", NULL, false, NULL},
		{"--x", NULL, false, NULL},
		{"x.socket", NULL, false, NULL},
		{"x.scope", NULL, false, NULL},
	};

	(void)state;
	for (size_t i = 0; i < N_OF(cases); i++) {
		char name[UNIT_NAME_SIZE], of[UNIT_NAME_SIZE];
		int r = unit_name_normalise(cases[i].name, name);

		assert_int_equal(r, cases[i].want ? 0 : -EINVAL);
		if (r)
			continue;
		assert_string_equal(name, cases[i].want);
		assert_int_equal(unit_is_template(name), cases[i].template);
		r = unit_template_of(name, of);
		assert_int_equal(r, cases[i].of ? 0 : -ENOENT);
		if (!r)
			assert_string_equal(of, cases[i].of);
	}
}

/* systemd's own bound, and the suffix counts. */
static void test_unit_name_length(void **state)
{
	char name[UNIT_NAME_SIZE + 8], ret[UNIT_NAME_SIZE];

	(void)state;
	memset(name, 'a', sizeof(name));
	name[UNIT_NAME_SIZE - sizeof(".service")] = '\0';
	assert_int_equal(unit_name_normalise(name, ret), 0);
	assert_int_equal(strlen(ret), UNIT_NAME_SIZE - 1);
	memset(name, 'a', sizeof(name));
	name[UNIT_NAME_SIZE - sizeof(".service") + 1] = '\0';
	assert_int_equal(unit_name_normalise(name, ret), -EINVAL);
}

/* Subtrees overlap by whole components only. */
static void test_overlap(void **state)
{
	static const struct {
		const char *a, *b;
		bool covers, overlap;
	} cases[] = {
		{"/c/a", "/c/a", true, true},	 {"/c/a", "/c/a/b", true, true},
		{"/c/a/b", "/c/a", false, true}, {"/c/a", "/c/ab", false, false},
		{"/c/ab", "/c/a", false, false}, {"/c/a/", "/c/a/b", true, true},
		{"/", "/c", true, true},	 {"/c/a", "/c/b", false, false},
	};

	(void)state;
	for (size_t i = 0; i < N_OF(cases); i++) {
		assert_int_equal(path_covers(cases[i].a, cases[i].b), cases[i].covers);
		assert_int_equal(paths_overlap(cases[i].a, cases[i].b), cases[i].overlap);
	}
}

static void test_session(void **state)
{
	static const struct {
		const char *path;
		bool session;
	} cases[] = {
		{"/sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope", true},
		{"/sys/fs/cgroup/user.slice/user-1000.slice/session-c3.scope/x", true},
		{"/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service", true},
		{"/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/x.service",
		 false},
		{"/sys/fs/cgroup/system.slice/session-3.scope", false},
		{"/sys/fs/cgroup/system.slice/nginx.service", false},
	};

	(void)state;
	for (size_t i = 0; i < N_OF(cases); i++)
		assert_int_equal(path_is_session(cases[i].path), cases[i].session);
}

/* A bound is a bound, and a file of exactly that size is none too large. */
static void test_text_read(void **state)
{
	char path[] = "/tmp/bulkhead-test-XXXXXX";
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = mkstemp(path);
	size_t n = 0;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "12345678", 8), 8);
	assert_int_equal(text_read(path, 7, &text, &n), -EFBIG);
	assert_null(text);
	assert_int_equal(text_read(path, 8, &text, &n), 0);
	assert_int_equal(n, 8);
	assert_string_equal(text, "12345678");
	unlink(path);
}

/* What would not be read again is not written. */
static void test_record_size(void **state)
{
	struct compartment *c = compartment_new();
	struct error error = {};
	char text[BH_MAX_RECORD_BYTES];
	size_t n = 0;

	(void)state;
	assert_non_null(c);
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(strings_push(&c->vars, &n, text), 0);
	assert_int_equal(compartment_save(c, &error), -E2BIG);
	assert_non_null(strstr(error.text, "fewer or shorter variables"));
	compartment_free(c);
}

/* --- the inventory, of this very process --- */

static const struct rule everything[] = {
	{.effect = RULE_ALLOW,
	 .perms = BH_PERM_ALL | BH_RULE_WRITTEN_INSIDE,
	 .glob = (char *)(uintptr_t) "/**"},
	{.effect = RULE_DENY, .perms = BH_PERM_READ, .glob = (char *)(uintptr_t) "/etc/passwd"},
};

static bool report_has(const struct report *report, const char *text)
{
	for (size_t i = 0; i < report->n; i++)
		if (strstr(report->lines[i], text))
			return true;
	return false;
}

static int judge_self(unsigned int keep, struct report *report, struct error *error)
{
	struct policy policy = {.name = "test",
				.keep = keep,
				.rules = (struct rule *)(uintptr_t)everything,
				.nrules = N_OF(everything)};
	pid_t self = getpid();

	return inventory_judge(&policy, &(struct inventory_of){.pids = &self, .npids = 1}, report,
			       NULL, error);
}

/* What is held against the policy is named one by one; what is not is not. */
static void test_inventory(void **state)
{
	_cleanup_(report_done) struct report before = {}, after = {};
	_cleanup_close_ int file = -1, net = -1, pair0 = -1, pair1 = -1;
	struct error error = {};
	int pair[2];
	void *code;

	(void)state;
	judge_self(KEEP_STDIO, &before, &error);
	assert_false(report_has(&before, "/etc/passwd"));
	file = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	net = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	pair0 = pair[0];
	pair1 = pair[1];
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	assert_int_equal(judge_self(KEEP_STDIO, &after, &error), -EPERM);
	munmap(code, 4096);
	assert_true(report_has(&after, "read /etc/passwd: no rule allows it"));
	/* Each by its own rule: what changed between the two is what was opened between. */
	assert_int_equal(after.n - before.n, 2);
	assert_true(report_has(&after, "socket:"));
	assert_non_null(strstr(error.text, "existing:"));
}

/* What can be taken is listed to be taken, what cannot is refused all the same. */
static void test_inventory_revoke(void **state)
{
	static const struct rule rules[] = {
		{.effect = RULE_ALLOW, .perms = BH_PERM_ALL, .glob = (char *)(uintptr_t) "/**"},
		{.effect = RULE_DENY,
		 .perms = BH_PERM_ALL,
		 .glob = (char *)(uintptr_t) "/etc/passwd"},
	};
	struct policy policy = {.name = "test",
				.existing = {[EXISTING_FILES] = EXISTING_REVOKE,
					     [EXISTING_SOCKETS] = EXISTING_REVOKE,
					     [EXISTING_MAPPINGS] = EXISTING_REPORT,
					     [EXISTING_OTHERS] = EXISTING_REVOKE},
				.keep = KEEP_STDIO,
				.rules = (struct rule *)(uintptr_t)rules,
				.nrules = N_OF(rules)};
	_cleanup_(revocations_done) struct revocations before = {}, revoked = {}, none = {};
	_cleanup_(report_done) struct report report = {}, second = {};
	_cleanup_close_ int file = -1, net = -1, space = -1;
	struct error error = {};
	pid_t self = getpid();
	size_t sockets = 0;
	void *map;

	(void)state;
	inventory_judge(&policy, &(struct inventory_of){.pids = &self, .npids = 1}, NULL, &before,
			&error);
	file = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	net = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	inventory_judge(&policy, &(struct inventory_of){.pids = &self, .npids = 1}, &report,
			&revoked, &error);
	assert_int_equal(revoked.n, before.n + 2);
	assert_true(revoked.nlines > before.nlines && revoked.lines[revoked.nlines] == NULL);
	for (size_t i = 0; i < revoked.n; i++) {
		assert_int_equal(revoked.items[i].pid, self);
		sockets += revoked.items[i].is_socket && revoked.items[i].fd == net;
	}
	assert_int_equal(sockets, 1);
	assert_true(report_has(&report, "revoked: pid "));
	assert_true(report_has(&report, "read /etc/passwd: no rule allows it"));
	assert_false(report_has(&report, "maps /etc/passwd"));
	map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	space = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	assert_int_equal(inventory_judge(&policy, &(struct inventory_of){.pids = &self, .npids = 1},
					 &second, &none, &error),
			 -EPERM);
	assert_true(report_has(&second, "a namespace to enter (and it cannot be revoked)"));
	assert_true(report_has(&second, "could be revoked: pid "));
	assert_null(strstr(error.text, "{default: revoke}"));
	assert_true(report_has(&second, "maps /etc/passwd: no rule allows read"));
	munmap(map, 4096);
}

/* A shared mapping goes on writing to a file of which one name was deleted; memory has none. */
static void test_inventory_deleted(void **state)
{
	_cleanup_(report_done) struct report report = {};
	_cleanup_close_ int memory = memfd_create("memory", MFD_CLOEXEC), file = -1;
	char name[] = "/tmp/inventory-XXXXXX", alias[sizeof(name) + 6];
	struct error error = {};
	void *maps[2];

	(void)state;
	file = mkstemp(name);
	snprintf(alias, sizeof(alias), "%s-alias", name);
	assert_true(file >= 0 && memory >= 0);
	assert_int_equal(link(name, alias), 0);
	close(file);
	file = open(alias, O_RDWR | O_CLOEXEC);
	assert_int_equal(ftruncate(file, 4096) || ftruncate(memory, 4096), 0);
	maps[0] = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	maps[1] = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	assert_true(maps[0] != MAP_FAILED && maps[1] != MAP_FAILED);
	unlink(alias);
	judge_self(KEEP_STDIO, &report, &error);
	munmap(maps[0], 4096);
	munmap(maps[1], 4096);
	unlink(name);
	assert_true(report_has(&report, "-alias (deleted), a file by another name"));
	/* Only root can look behind a mapping. */
	if (geteuid() == 0)
		assert_false(report_has(&report, "/memfd:memory"));
}

/* Holds /etc/passwd by a mount that nobody sees, on which it is called /passwd. */
static void hold_detached(int ready, int end)
{
	int tree, file;
	char byte;

	if (unshare(geteuid() ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS))
		_exit(1);
	tree = (int)syscall(SYS_open_tree, AT_FDCWD, "/etc", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	file = openat(tree, "passwd", O_RDONLY);
	if (file < 0 || write(ready, "", 1) != 1 || read(end, &byte, 1) < 0)
		_exit(1);
	_exit(0);
}

/* The name on a mount of its owner's making is not taken for the file's. */
static void test_inventory_names(void **state)
{
	_cleanup_(report_done) struct report report = {};
	struct policy policy = {.name = "test",
				.rules = (struct rule *)(uintptr_t)everything,
				.nrules = N_OF(everything)};
	struct error error = {};
	int ready[2], end[2];
	pid_t child;
	char byte;

	(void)state;
	assert_int_equal(pipe2(ready, O_CLOEXEC) || pipe2(end, O_CLOEXEC), 0);
	child = fork();
	if (!child) {
		close(end[1]);
		hold_detached(ready[1], end[0]);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	inventory_judge(&policy, &(struct inventory_of){.pids = &child, .npids = 1}, &report, NULL,
			&error);
	close(end[1]);
	waitpid(child, NULL, 0);
	close(ready[0]);
	close(end[0]);
	assert_true(report_has(&report, "read /passwd: it was opened on a mount that is gone"));
}

/* An outsider that is traced is found, however many groups it has. */
static void test_inventory_tracee(void **state)
{
	_cleanup_(report_done) struct report report = {};
	struct error error = {};
	gid_t groups[4096];
	pid_t child;
	int status;

	(void)state;
	for (size_t i = 0; i < N_OF(groups); i++)
		groups[i] = 1000000 + (gid_t)i;
	child = fork();
	if (!child) {
		if (!geteuid() && setgroups(N_OF(groups), groups))
			_exit(1);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSTOPPED(status));
	judge_self(KEEP_STDIO, &report, &error);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_true(report_has(&report, "traces process"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mountinfo),	 cmocka_unit_test(test_mountinfo_bad),
		cmocka_unit_test(test_mounts_digest),	 cmocka_unit_test(test_mountinfo_here),
		cmocka_unit_test(test_translate),	 cmocka_unit_test(test_maps),
		cmocka_unit_test(test_maps_bad),	 cmocka_unit_test(test_unit_names),
		cmocka_unit_test(test_unit_name_length), cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_session),		 cmocka_unit_test(test_text_read),
		cmocka_unit_test(test_record_size),	 cmocka_unit_test(test_inventory),
		cmocka_unit_test(test_inventory_revoke), cmocka_unit_test(test_inventory_deleted),
		cmocka_unit_test(test_inventory_names),	 cmocka_unit_test(test_inventory_tracee),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
