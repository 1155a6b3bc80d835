// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Policy files: every mistake has its place and its advice. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "policy/glob.h"
#include "policy/policy.h"
#include "policy/resolve.h"
#include "tree.h"

#define R BH_PERM_READ
#define W BH_PERM_WRITE
#define N_OF(array) (sizeof(array) / sizeof(*(array)))
#define HEAD "version: 1\nname: t\nmode: enforce\nnetwork: none\n"

/* A directory of the test's own, with copies of the inputs. */
static char dir[] = "/tmp/test_policy.XXXXXX";
static char include_dir[PATH_MAX];

static const char *in_dir(const char *name)
{
	static char path[4][PATH_MAX];
	static unsigned int turn;

	turn = (turn + 1) % N_OF(path);
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, name);
	return path[turn];
}

static const char *write_text(const char *name, const char *text)
{
	const char *path = in_dir(name);

	write_bytes(path, text, strlen(text));
	return path;
}

/* Run from the top of the tree, where the sources were compiled. */
static int set_up(void **state)
{
	(void)state;
	umask(022);
	if (!mkdtemp(dir))
		return -1;
	snprintf(include_dir, sizeof(include_dir), "%s/policies", dir);
	return tree_copy("policies", include_dir) || tree_copy("tests/unit/bad", in_dir("bad"));
}

static int tear_down(void **state)
{
	(void)state;
	return tree_remove(dir);
}

static int try_load(const char *path, const char *const *vars, struct policy **ret,
		    struct error *error)
{
	const struct policy_options options = {.include_dir = include_dir, .vars = vars};

	return policy_load(path, &options, ret, error);
}

static struct policy *load(const char *path, const char *const *vars)
{
	struct error error = {0};
	struct policy *policy = NULL;

	if (try_load(path, vars, &policy, &error) < 0)
		fail_msg("%s", error.text);
	return policy;
}

static void expect_refusal(const char *path, const char *const *vars, int code, const char *text)
{
	struct policy *policy = (struct policy *)&dir;
	struct error error = {0};
	int r = try_load(path, vars, &policy, &error);

	if (r != -code || !strstr(error.text, text))
		fail_msg("%s: %d: %s; expected: %s", path, r, error.text, text);
	assert_ptr_equal(policy, &dir);
}

static int allows(const struct policy *policy, __u32 perms, const char *path)
{
	bool allowed;

	policy_explain(policy, path, strlen(path), perms, &allowed);
	return allowed;
}

/* One mistake a file: where it is and what to write instead. */
static void test_bad(void **state)
{
	static const struct {
		const char *name, *text;
	} cases[] = {
		{"abstract-deep", "6:13: \"@a**\" at byte 3: ** is for paths"},
		{"abstract-empty", "6:13: \"@{a,}\" at byte 6: an abstract socket needs a name"},
		{"abstract-read", "6:26: @x is an abstract socket: write it under unix: connect"},
		{"alias", "6:5: an alias"},
		{"anchor", "2:7: an anchor: write the plain value"},
		{"anchor-list", "5:8: an anchor: write the plain value"},
		{"binary", "1:1: not YAML"},
		{"comment-only", "1:1: empty"},
		{"dead-allow", "7:26: /a/b says nothing: line 6 denies /a/**"},
		{"dead-allow-glob", "7:26: /a/*/c/** says nothing: line 6 denies /a/**"},
		{"dead-allow-tripwire",
		 "7:26: /a/b says nothing: line 6 makes a tripwire of /a/**, and that stands"},
		{"dead-audit", "7:26: /a/b says nothing: line 6 denies /a/**"},
		{"dead-allow-same", "6:26: /a/*.x says nothing: line 7 denies /a/*.x"},
		{"document-second", "5:1: a second document"},
		{"duplicate-key", "5:1: mode is given twice, first in line 3"},
		{"duplicate-key-inner", "6:31: files[0].on is given twice"},
		{"duplicate-rule", "7:28: /a says nothing: line 6 already says so of /a"},
		{"empty-allow", "6:13: files[0].allow is empty"},
		{"empty-file", "1:1: empty: a policy begins with version: 1"},
		{"empty-mapping", "5:9: tests[0] is empty"},
		{"empty-on", "6:25: files[0].on is empty, which would mean nothing"},
		{"empty-path", "6:26: \"\" at byte 1: not absolute"},
		{"exec-jit-word", "6:21: jit: \"flase\" is no value of it: write true or false"},
		{"exec-no-on", "6:5: no programs: write on: [...]"},
		{"existing-keep",
		 "5:26: keep: \"all\" is no value of it: write stdio or journal or notify"},
		{"existing-mappings",
		 "5:39: existing.mappings: a mapping cannot be revoked: write refuse or report"},
		{"glob-backslash", "6:26: \"/a\\b\" at byte 3: a backslash stands before * ? ["},
		{"glob-backslash-end", "6:26: \"/a\\\" at byte 3: a backslash stands before"},
		{"glob-brace", "6:26: \"/a{b,c\" at byte 3: { without }: write \\{"},
		{"glob-brace-close", "at byte 3: } without {: write \\}"},
		{"glob-brace-component", "6:26: \"/a/{,b}\" at byte 8: an empty component"},
		{"glob-brace-deep", "at byte 26: braces nest deeper than 8: write several"},
		{"glob-brace-glued", "6:26: \"/{a/**,b}c\" at byte 5: ** is a whole component"},
		{"glob-brace-many", "at byte 52: braces stand for more than 1024 globs: write *"},
		{"glob-brace-one", "6:26: \"/{a}\" at byte 2: {} has alternatives: write {a,b}"},
		{"glob-brace-relative", "6:26: \"{/a,b}\" at byte 5: not absolute"},
		{"glob-brace-stars", "6:26: \"/{a,b*}*c\" at byte 5: a * of braces meets"},
		{"glob-bracket", "6:26: \"/a[bc\" at byte 3: [ without ]"},
		{"glob-bracket-close", "6:26: \"/a]\" at byte 3: ] without [: write \\]"},
		{"glob-deep-glued", "6:26: \"/a/**.so\" at byte 4: ** is a whole component"},
		{"glob-dot", "never stand in a file's path"},
		{"glob-dots", "never stand in a file's path"},
		{"glob-hex", "at byte 3: \\x stands before two hexadecimal digits: write \\xff"},
		{"glob-hex-nul", "at byte 3: \\x00 is in no name"},
		{"glob-hex-slash", "at byte 3: \\x2f would be a / within a name"},
		{"glob-name-long", "at byte 2: longer than a file name can be"},
		{"glob-set-class", "at byte 3: [:class:] is not known: write the range"},
		{"glob-set-empty", "at byte 2: a set that no byte is in"},
		{"glob-set-first", "at byte 2: [ without ] (one that comes first is a byte"},
		{"glob-set-range", "at byte 6: a range behind a range: write \\-"},
		{"glob-set-reversed", "at byte 3: a reversed range: write the smaller byte first"},
		{"glob-set-slash", "at byte 5: a set never matches /"},
		{"glob-slash", "an empty component"},
		{"home", "6:26: \"~/x\" at byte 1: ~ is not expanded"},
		{"home-alone", "6:26: \"~\" at byte 1: ~ is not expanded"},
		{"hardlinks-deny", "6:5: hardlinks is for what is allowed"},
		{"hardlinks-exec",
		 "6:30: hardlinks: \"yes\" is no value of it: write allow or refuse"},
		{"hardlinks-word",
		 "5:12: hardlinks: \"true\" is no value of it: write allow or refuse"},
		{"include-absolute", "5:11: include /etc/x: write base/name"},
		{"include-main", "no-name.yaml:2:1: mode belongs in the main file"},
		{"include-missing", "5:11: include base/none: no such file in "},
		{"include-yaml", "5:11: include base/node.yaml: leave .yaml off: write base/node"},
		{"include-checked", "1:1: no name, mode and network: this may be an include"},
		{"include-self", "5:11: include ./include-self.yaml: "},
		{"include-up", "5:11: include base/../../x: write base/name"},
		{"indent", "3:6: not YAML: mapping values are not allowed in this context: see the "
			   "indentation"},
		{"key-list", "5:3: a key is a word"},
		{"mode-unknown",
		 "3:7: mode: \"permissive\" is no value of it: write enforce or audit"},
		{"name-dash", "2:7: name \"-bad\""},
		{"name-empty", "2:6: name \"\": write"},
		{"name-long", "2:7: name: longer than 63 bytes"},
		{"name-upper", "2:7: name \"Bad\": write a-z, 0-9 and -"},
		{"nested", "5:15: nested too deeply"},
		{"nested-unknown",
		 "5:17: nested-sandbox: \"yes\" is no value of it: write true or false"},
		{"network-discloses-ascii",
		 "6:44: discloses at byte 5: not printable ASCII: write plain words"},
		{"network-discloses-control",
		 "6:44: discloses at byte 2: not printable ASCII: write plain words"},
		{"network-discloses-empty",
		 "6:45: discloses at byte 1: empty: write what is sent there"},
		{"network-discloses-list", "6:44: network.egress[0].discloses must be one word"},
		{"network-discloses-long",
		 "6:205: discloses at byte 161: longer than 160 bytes: write the kinds of things"},
		{"network-discloses-null",
		 "6:44: discloses at byte 1: empty: write what is sent there"},
		{"network-egress-empty", "4:19: network.egress is empty, which would mean nothing: "
					 "where nothing is to be reached, write network: none, or "
					 "loopback: own alone"},
		{"network-egress-word", "4:19: network.egress must be a list, as in [a, b]"},
		{"network-egress-words",
		 "4:20: network.egress[0] must be a mapping, as in {key: value}"},
		{"network-empty",
		 "4:10: network is empty, which would mean nothing: write network: none"},
		{"network-entry-empty", "6:7: network.egress[0] is empty, which would mean "
					"nothing: fill it or leave it out"},
		{"network-entry-key",
		 "6:71: unknown key phase: write one of to, discloses, max-upload, tls"},
		{"network-list", "4:10: network must be none, or a mapping, as in {egress: [...]} "
				 "or {loopback: own}"},
		{"network-listen",
		 "4:31: listen at byte 11: a port is 1 to 65535, without zeros in front"},
		{"network-listen-alone", "4:21: listen at byte 1: neither an IPv4 address nor *: "
					 "write 127.0.0.1:8080, [::1]:8080 or *:8080"},
		{"network-listen-any",
		 "4:21: listen at byte 1: write *, which means every address"},
		{"network-listen-broadcast",
		 "4:21: listen at byte 1: no host's address: by TCP nobody listens there"},
		{"network-listen-covered",
		 "4:28: line 4 lets members listen at [::1]:80 already: write it once"},
		{"network-listen-covers",
		 "4:32: [::1]:80 in line 4 says no more than this: leave it out"},
		{"network-listen-empty", "4:19: network.listen is empty, which would mean nothing: "
					 "fill it or leave it out"},
		{"network-listen-no-text",
		 "4:21: listen at byte 1: no address: write 127.0.0.1:8080, [::1]:8080 or *:8080"},
		{"network-listen-group",
		 "4:21: listen at byte 1: a group: by TCP nobody listens there"},
		{"network-listen-mapping", "4:20: network.listen[0] must be one word"},
		{"network-listen-name", "4:21: listen at byte 1: neither an IPv4 address nor *: "
					"write 127.0.0.1:8080, [::1]:8080 or *:8080"},
		{"network-listen-no-address",
		 "4:21: listen at byte 1: no address: write 127.0.0.1:8080, [::1]:8080 or *:8080"},
		{"network-listen-no-port", "4:29: listen at byte 9: no port: there is none by "
					   "default, write 127.0.0.1:8080, [::1]:8080 or *:8080"},
		{"network-listen-octal", "4:21: listen at byte 1: neither an IPv4 address nor *: "
					 "write 127.0.0.1:8080, [::1]:8080 or *:8080"},
		{"network-listen-port-comma",
		 "4:26: listen at byte 6: no port: there is none by default, write 127.0.0.1:8080, "
		 "[::1]:8080 or *:8080"},
		{"network-listen-port-empty",
		 "4:23: listen at byte 3: no port: there is none by default, write 127.0.0.1:8080, "
		 "[::1]:8080 or *:8080"},
		{"network-listen-port-large",
		 "4:23: listen at byte 3: a port is 1 to 65535, without zeros in front"},
		{"network-listen-port-many",
		 "4:62: listen at byte 42: more than 16 ports: write a second entry"},
		{"network-listen-port-more", "4:32: listen at byte 12: a port is decimal digits, "
					     "and a comma stands between two"},
		{"network-listen-port-range",
		 "4:25: listen at byte 5: no range of ports: name each, with commas"},
		{"network-listen-port-twice",
		 "4:30: listen at byte 10: this port is there already"},
		{"network-listen-port-zeros",
		 "4:23: listen at byte 3: a port is 1 to 65535, without zeros in front"},
		{"network-listen-prefix", "4:21: listen at byte 1: neither an IPv4 address nor *: "
					  "write 127.0.0.1:8080, [::1]:8080 or *:8080"},
		{"network-listen-short", "4:21: listen at byte 1: neither an IPv4 address nor *: "
					 "write 127.0.0.1:8080, [::1]:8080 or *:8080"},
		{"network-listen-six-any",
		 "4:22: listen at byte 2: write *, which means every address"},
		{"network-listen-six-bare",
		 "4:21: listen at byte 1: brackets stand around an IPv6 address: write [::1]:8080"},
		{"network-listen-six-four",
		 "4:22: listen at byte 2: no IPv6 address stands between [ and ]"},
		{"network-listen-six-group",
		 "4:22: listen at byte 2: a group: by TCP nobody listens there"},
		{"network-listen-six-link",
		 "4:22: listen at byte 2: an address of the link needs a zone: write *"},
		{"network-listen-six-long", "4:22: listen at byte 2: not in its short form, in "
					    "lower case (RFC 5952): write it so"},
		{"network-listen-six-mapped",
		 "4:22: listen at byte 2: a mapped address: write it as IPv4"},
		{"network-listen-six-open", "4:28: listen at byte 8: no ] behind the address"},
		{"network-listen-six-upper", "4:22: listen at byte 2: not in its short form, in "
					     "lower case (RFC 5952): write it so"},
		{"network-listen-six-zone",
		 "4:22: listen at byte 2: no zone stands behind an address: write *"},
		{"network-listen-space", "4:21: listen at byte 1: neither an IPv4 address nor *: "
					 "write 127.0.0.1:8080, [::1]:8080 or *:8080"},
		{"network-listen-synthetic",
		 "4:21: listen at byte 1: 198.18.0.0/15 stands for names of egress"},
		{"network-listen-twice",
		 "4:39: line 4 lets members listen at 10.0.0.5:443 already: write it once"},
		{"network-listen-url", "4:21: listen at byte 1: neither an IPv4 address nor *: "
				       "write 127.0.0.1:8080, [::1]:8080 or *:8080"},
		{"network-listen-wild", "4:21: listen at byte 1: neither an IPv4 address nor *: "
					"write 127.0.0.1:8080, [::1]:8080 or *:8080"},
		{"network-listen-word", "4:19: network.listen must be a list, as in [a, b]"},
		{"network-loopback-egress",
		 "4:34: network.egress is empty, which would mean nothing: where nothing is to be "
		 "reached, write network: none, or loopback: own alone"},
		{"network-loopback-host",
		 "4:21: loopback: \"host\" is no value of it: write own or none"},
		{"network-loopback-list", "4:21: network.loopback must be one word"},
		{"network-loopback-none",
		 "4:21: loopback: none, and neither egress nor listen: write network: none"},
		{"network-loopback-null",
		 "5:12: loopback: \"\" is no value of it: write own or none"},
		{"network-loopback-true",
		 "5:13: loopback: \"true\" is no value of it: write own or none"},
		{"network-loopback-twice",
		 "4:27: network.loopback is given twice, first in line 4: write it once"},
		{"network-loopback-word",
		 "4:10: network: \"loopback\" is no value of it: write none, or a mapping, as in "
		 "{egress: [...]} or {loopback: own}"},
		{"network-no-discloses",
		 "6:7: no discloses: write what is sent there, as in discloses: \"prompts\""},
		{"network-no-max-upload",
		 "6:7: no max-upload: write how much may be sent there, as in max-upload: 200MiB"},
		{"network-no-to",
		 "6:7: no to: write what may be reached, as in to: \"api.example.com:443\""},
		{"network-null", "4:9: network: \"\" is no value of it: write none, or a mapping, "
				 "as in {egress: [...]} or {loopback: own}"},
		{"network-open", "4:10: network: \"host\" is no value of it: write none, or a "
				 "mapping, as in {egress: [...]} or {loopback: own}"},
		{"network-proxy-alone",
		 "6:10: proxy: true, and no egress: it leads to what egress lists alone"},
		{"network-proxy-list", "4:18: network.proxy must be one word"},
		{"network-proxy-null", "5:9: proxy: \"\" is no value of it: write true or false"},
		{"network-proxy-own",
		 "6:10: proxy: \"own\" is no value of it: write true or false"},
		{"network-tls", "6:70: tls: \"yes\" is no value of it: write true or false"},
		{"network-to-address",
		 "6:21: to at byte 9: the last label is a number: an address is no destination: "
		 "write the name that the provider asks for"},
		{"network-to-empty", "6:12: to at byte 1: no name"},
		{"network-to-escape",
		 "6:12: to at byte 19: no port: there is none by default, write name:443"},
		{"network-to-localhost",
		 "6:15: to at byte 3: localhost is the host itself (RFC 6761)"},
		{"network-to-metadata", "6:29: to at byte 17: .internal is the site's own, and the "
					"clouds' metadata (ICANN 2024)"},
		{"network-to-no-port",
		 "6:26: to at byte 14: no port: there is none by default, write name:443"},
		{"network-to-other",
		 "6:12: to at byte 2: not ASCII: write the name's A-labels (xn--...)"},
		{"network-to-plain",
		 "6:26: to at byte 15: a port is decimal digits, and a comma stands between two"},
		{"network-to-port-53",
		 "6:31: to at byte 19: port 53 is the host's stub, whoever is asked: leave it out"},
		{"network-to-twice-wild",
		 "7:12: *.example.com:443 is in line 6 already: write it once"},
		{"network-to-twice", "8:12: a.example.com:443 is in line 6 already: write it once"},
		{"network-to-upper",
		 "6:15: to at byte 3: an upper-case letter: write the name in lower case"},
		{"network-to-wild",
		 "6:13: to at byte 1: there is no entry for every name: name each"},
		{"network-unknown",
		 "4:11: unknown key ingress: write one of loopback, listen, egress, proxy"},
		{"network-upload-fraction", "6:60: max-upload at byte 2: write KiB, MiB or GiB "
					    "behind the number, or nothing for bytes"},
		{"network-upload-lower", "6:60: max-upload at byte 2: write KiB, MiB or GiB behind "
					 "the number, or nothing for bytes"},
		{"network-upload-negative",
		 "6:59: max-upload at byte 1: write a number above 0, as in 200MiB"},
		{"network-upload-null",
		 "6:59: max-upload at byte 1: write a number above 0, as in 200MiB"},
		{"network-upload-overflow",
		 "6:59: max-upload at byte 1: too many: write less than 8589934592GiB"},
		{"network-upload-shift",
		 "6:59: max-upload at byte 1: too many: write less than 8589934592GiB"},
		{"network-upload-space", "6:61: max-upload at byte 2: write KiB, MiB or GiB behind "
					 "the number, or nothing for bytes"},
		{"network-upload-tib", "6:60: max-upload at byte 2: write KiB, MiB or GiB behind "
				       "the number, or nothing for bytes"},
		{"network-upload-unit", "6:60: max-upload at byte 2: write KiB, MiB or GiB behind "
					"the number, or nothing for bytes"},
		{"network-upload-word",
		 "6:59: max-upload at byte 1: write a number above 0, as in 200MiB"},
		{"network-upload-zero",
		 "6:59: max-upload at byte 1: write a number above 0, as in 200MiB"},
		{"network-upload-zeros",
		 "6:59: max-upload at byte 1: write a number above 0, as in 200MiB"},
		{"no-effect", "6:5: write one of allow, deny, quiet, audit and tripwire"},
		{"no-mode", "1:1: no mode: write mode: enforce"},
		{"no-name", "1:1: no name: write name: a-name"},
		{"no-network", "1:1: no network: write network: none"},
		{"no-on", "6:5: no files: write on: [...]"},
		{"no-version", "1:1: no version: write version: 1"},
		{"not-utf8", "5:7: not YAML: invalid leading UTF-8 octet"},
		{"nul-byte", "5:11: not YAML: control characters are not allowed"},
		{"nul-escape", "6:26: a NUL byte"},
		{"null-document", "1:1: a policy must be a mapping"},
		{"null-list", "5:7: files must be a list"},
		{"proc-unknown",
		 "5:7: proc: \"own\" is no value of it: write self or compartment or none"},
		{"relative-path", "6:26: \"a/b\" at byte 1: not absolute: write /dir/name"},
		{"right-jit", "6:14: jit belongs to a program"},
		{"tab", "6:1: not YAML: found character that cannot start any token while "
			"scanning for the next token: indent with spaces, not with tabs"},
		{"tag", "5:7: a tag: write the plain value"},
		{"test-allowed", ":6:26: /a/**"},
		{"test-denied", "8:22: test failed: read /a is refused: "},
		{"test-glob", "6:22: /a/*: a test asks about one path"},
		{"test-refused",
		 "6:22: test failed: read /etc/shadow is refused: no rule allows it"},
		{"test-right", "6:16: unknown key reed: write one of read, write"},
		{"two-effects", "6:5: write one of allow, deny, quiet, audit and tripwire"},
		{"type-list", "5:8: files must be a list"},
		{"type-list-item", "6:13: files[0].allow must be a list"},
		{"type-mapping", "5:9: files[0] must be a mapping"},
		{"type-top", "1:1: a policy must be a mapping"},
		{"type-word", "5:7: proc must be one word"},
		{"unclosed", "not YAML"},
		{"unknown-key", "5:1: unknown key file: write one of version"},
		{"unknown-key-inner",
		 "6:21: unknown key no: write one of allow, deny, quiet, audit, tripwire, on"},
		{"unknown-key-odd", "5:1: unknown key files[0"},
		{"unknown-right",
		 "6:20: unknown right \"execute\": write some of read,write,append"},
		{"unquoted-socket",
		 "5:18: not YAML: found character that cannot start any token while scanning for "
		 "the next token: quote the word"},
		{"unquoted-star", ": quote the word: * and & mean something to YAML"},
		{"unquoted-variable", ": close the bracket, put a comma, or quote the word"},
		{"var-bare", "6:26: $ begins a variable: write ${NAME}"},
		{"var-brace", "5:8: variable HOME: no wildcard and no ${}"},
		{"var-broken", "6:26: write ${NAME}"},
		{"var-dots", "5:8: variable HOME: \"/a/..\" at byte 4: . and .. never stand"},
		{"var-empty", "5:8: variable HOME: \"\" is neither"},
		{"var-lower", "5:8: variable \"home=/x\": write NAME=value"},
		{"var-mapping", "5:8: vars must be a list: write vars: [\"NAME=value\"]"},
		{"var-mapping-lower", "5:7: vars must be a list: write vars: [\"NAME=value\"]"},
		{"var-no-value", "5:8: variable \"HOME\": write NAME=value"},
		{"var-open", "5:8: variable HOME: \"/a{\" at byte 3: { without }"},
		{"var-relative",
		 "5:8: variable HOME: \"a/b\" is neither an absolute path nor a plain word"},
		{"var-root", "5:8: variable HOME: / is too much"},
		{"var-set", "5:8: variable HOME: no wildcard and no ${}"},
		{"var-star", "5:8: variable HOME: no wildcard and no ${}"},
		{"var-twice", "5:17: variable HOME is set twice"},
		{"var-unset",
		 "6:26: variable HOME is not set: write vars: [\"HOME=/path\"] in the main file"},
		{"version-2", "1:10: version 2 is not known here: write version: 1"},
		{"written-word", "6:43: written-inside: \"yes\" is no value of it"},
		{"written-exec", "8:11: /a/b/* may be written inside, by"},
		{"written-create", "9:11: /a/tool may be written inside, by"},
		{"written-files", "7:38: /a/*.so may be written inside, by"},
	};
	char name[64], text[256];
	size_t i;

	(void)state;
	for (i = 0; i < N_OF(cases); i++) {
		int code = strcmp(cases[i].name, "include-missing") ? EINVAL : ENOENT;

		snprintf(name, sizeof(name), "bad/%s.yaml", cases[i].name);
		/* A place is of this file unless the row says otherwise. */
		snprintf(text, sizeof(text), "%s%s",
			 strspn(cases[i].text, "0123456789") ? "yaml:" : "", cases[i].text);
		expect_refusal(in_dir(name), NULL, code, text);
	}
}

static size_t bad_files;

static int count_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	struct error error = {0};
	struct policy *policy;

	(void)st;
	(void)ftw;
	if (type != FTW_F)
		return 0;
	bad_files++;
	if (try_load(path, NULL, &policy, &error) == 0)
		fail_msg("%s loads", path);
	return 0;
}

/* No file of bad/ is left out of the table above. */
static void test_bad_all(void **state)
{
	(void)state;
	assert_int_equal(nftw(in_dir("bad"), count_one, 8, FTW_PHYS), 0);
	assert_int_equal(bad_files, 227);
}

/* Every word of the language arrives where it belongs. */
static void test_all_keys(void **state)
{
	const char *path =
		write_text("all.yaml",
			   "version: 1\n"
			   "name: a-1\n"
			   "vars: [\"DIR=/nonexistent/x\", \"WORD=y.z\"]\n"
			   "mode: audit\n"
			   "existing: {default: report, files: revoke, keep: [stdio, notify]}\n"
			   "proc: compartment\n"
			   "files:\n"
			   "  - {allow: [read, write], on: [\"${DIR}/**\", \"${DIR}-${WORD}\"]}\n"
			   "  - {deny: [write], on: [\"${DIR}/secret\"]}\n"
			   "  - {quiet: [read], on: [/nonexistent/q]}\n"
			   "exec:\n"
			   "  - {on: [/nonexistent/node], jit: true}\n"
			   "  - {on: [/nonexistent/tool], jit: false, written-inside: true}\n"
			   "unix:\n"
			   "  connect: [/nonexistent/s, \"@abstract\"]\n"
			   "  quiet: [/nonexistent/nscd]\n"
			   "network: none\n"
			   "nested-sandbox: true\n"
			   "tests:\n"
			   "  - {refused: {read: /etc/shadow, write: \"${DIR}/secret\"}}\n"
			   "  - {allowed: {exec: /nonexistent/node, connect: \"@abstract\"}}\n");
	static const struct {
		enum rule_effect effect;
		__u32 perms;
		const char *glob;
		unsigned int line, column;
	} rules[] = {
		{RULE_ALLOW, R | W | BH_PERM_APPEND, "/nonexistent/x/**", 8, 33},
		{RULE_ALLOW, R | W | BH_PERM_APPEND, "/nonexistent/x-y.z", 8, 46},
		{RULE_DENY, W | BH_PERM_APPEND, "/nonexistent/x/secret", 9, 26},
		{RULE_QUIET, R, "/nonexistent/q", 10, 26},
		{RULE_ALLOW, R | BH_PERM_EXEC | BH_PERM_MAP_EXEC | BH_PERM_JIT, "/nonexistent/node",
		 12, 11},
		{RULE_ALLOW, R | BH_PERM_EXEC | BH_PERM_MAP_EXEC | BH_RULE_WRITTEN_INSIDE,
		 "/nonexistent/tool", 13, 11},
		{RULE_ALLOW, BH_PERM_CONNECT, "/nonexistent/s", 15, 13},
		{RULE_ALLOW, BH_PERM_CONNECT, "@abstract", 15, 29},
		{RULE_QUIET, BH_PERM_CONNECT, "/nonexistent/nscd", 16, 11},
	};
	struct policy *policy = load(path, NULL);
	size_t i;

	(void)state;
	assert_string_equal(policy->name, "a-1");
	assert_string_equal(policy->path, path);
	assert_int_equal(policy->mode, BH_MODE_AUDIT);
	assert_int_equal(policy->existing[EXISTING_FILES], EXISTING_REVOKE);
	assert_int_equal(policy->existing[EXISTING_SOCKETS], EXISTING_REPORT);
	assert_int_equal(policy->existing[EXISTING_MAPPINGS], EXISTING_REPORT);
	assert_int_equal(policy->existing[EXISTING_OTHERS], EXISTING_REPORT);
	assert_int_equal(policy->keep, KEEP_STDIO | KEEP_NOTIFY);
	assert_int_equal(policy->proc, PROC_COMPARTMENT);
	assert_true(policy->nested);
	assert_int_equal(policy->caps, 0x4db);
	assert_int_equal(policy->nrules, N_OF(rules));
	for (i = 0; i < N_OF(rules); i++) {
		assert_int_equal(policy->rules[i].effect, rules[i].effect);
		assert_int_equal(policy->rules[i].perms, rules[i].perms);
		assert_string_equal(policy->rules[i].glob, rules[i].glob);
		assert_string_equal(policy->rules[i].place.file, path);
		assert_int_equal(policy->rules[i].place.line, rules[i].line);
		assert_int_equal(policy->rules[i].place.column, rules[i].column);
	}
	policy_free(policy);
}

/* Of an entry, and of all that the policy allows; a name that is allowed twice for it says something. */
static void test_hardlinks(void **state)
{
	const char *entry =
		write_text("links.yaml",
			   HEAD "files:\n"
				"  - {allow: [read], on: [/nonexistent/a]}\n"
				"  - {allow: [read], on: [/nonexistent/a], hardlinks: allow}\n"
				"  - {allow: [read], on: [/nonexistent/b], hardlinks: refuse}\n"
				"exec:\n"
				"  - {on: [/nonexistent/c], hardlinks: allow}\n");
	static const bool links[] = {false, true, false, true};
	struct policy *policy = load(entry, NULL);
	size_t i;

	(void)state;
	assert_int_equal(policy->nrules, N_OF(links));
	for (i = 0; i < N_OF(links); i++)
		assert_int_equal(policy->rules[i].links, links[i]);
	policy_free(policy);
	policy = load(write_text("all-links.yaml",
				 HEAD "hardlinks: allow\n"
				      "files:\n"
				      "  - {allow: [read], on: [/nonexistent/a]}\n"
				      "  - {deny: [read], on: [/nonexistent/b]}\n"),
		      NULL);
	assert_true(policy->rules[0].links);
	assert_false(policy->rules[1].links);
	policy_free(policy);
}

/* What is left out is the strictest. */
static void test_defaults(void **state)
{
	struct policy *policy = load(write_text("least.yaml", HEAD), NULL);

	(void)state;
	assert_int_equal(policy->mode, BH_MODE_ENFORCE);
	for (int kind = 0; kind < EXISTING_KINDS; kind++)
		assert_int_equal(policy->existing[kind], EXISTING_REFUSE);
	assert_int_equal(policy->keep, 0);
	assert_int_equal(policy->proc, PROC_NONE);
	assert_false(policy->nested);
	assert_int_equal(policy->nrules, 0);
	assert_false(allows(policy, R, "/"));
	policy_free(policy);
}

/* An include alone has its rules, and those of no other; a name that is none is said so. */
static void test_include_alone(void **state)
{
	const struct policy_options options = {.include_dir = include_dir};
	struct policy *policy = NULL;
	struct error error = {0};

	(void)state;
	assert_int_equal(policy_load_include("base/tty", &options, &policy, &error), 0);
	assert_true(allows(policy, R, "/etc/inputrc"));
	assert_false(allows(policy, R, "/etc/ld.so.cache"));
	policy_free(policy);
	assert_int_equal(policy_load_include("base/none", &options, &policy, &error), -ENOENT);
	assert_memory_equal(error.text, "include base/none: no such file in ", 35);
	assert_int_equal(policy_load_include("../base/tty", &options, &policy, &error), -EINVAL);
}

/* The demo's promises, asked of the policy and of its automaton. */
static void test_demo(void **state)
{
	static const struct {
		__u32 perms;
		const char *path;
		int allowed;
	} cases[] = {
		{R, "/w/s/notes.txt", 1},
		{W | BH_PERM_CREATE, "/w/s/a/b/new", 1},
		{R, "/w/s", 1},
		{R, "/w/s/secrets", 0},
		{R, "/w/s/secrets/token.txt", 0},
		{BH_PERM_LINK, "/w/s/secrets/token.txt", 0},
		{BH_PERM_DELETE, "/w/s/secrets/token.txt", 0},
		{R, "/w/s/secretsx", 1},
		{R, "/w/sx", 0},
		{BH_PERM_EXEC, "/w/s/tool.sh", 0},
		{R, "/opt/srv/dist/index.js", 1},
		{W, "/opt/srv/dist/index.js", 0},
		{BH_PERM_EXEC | BH_PERM_JIT, "/usr/bin/node", 1},
		{BH_PERM_EXEC, "/usr/bin/dash", 0},
		{R, "/etc/shadow", 0},
		{R, "/proc/self/maps", 1},
		{R, "/proc/1/maps", 0},
		{BH_PERM_CONNECT, "/run/systemd/private", 0},
		{BH_PERM_CONNECT, "/run/nscd/socket", 0},
		{BH_PERM_CONNECT, "@anything", 0},
		{R | BH_PERM_MAP_EXEC, "/usr/lib/x86_64-linux-gnu/libnode.so.108", 1},
		{W, "/dev/null", 1},
		{R, "/dev/sda", 0},
	};
	static const char *const vars[] = {"WORKSPACE=/w/s", "SERVER=/opt/srv", NULL};
	struct policy *policy = load(in_dir("policies/demo.yaml"), vars);
	struct automaton automaton;
	struct bh_masks masks;
	size_t i;

	(void)state;
	assert_int_equal(
		automaton_compile(policy->rules, policy->nrules, NULL, 0, &automaton, NULL), 0);
	for (i = 0; i < N_OF(cases); i++) {
		if (allows(policy, cases[i].perms, cases[i].path) != cases[i].allowed)
			fail_msg("%s", cases[i].path);
		automaton_walk(&automaton, 0, cases[i].path, strlen(cases[i].path), &masks);
		if (((cases[i].perms & ~masks.allow) == 0) != cases[i].allowed)
			fail_msg("automaton: %s", cases[i].path);
	}
	automaton_done(&automaton);
	policy_free(policy);
}

/* Includes: nested, beside the file, each read once, rules in order of reading. */
static void test_includes(void **state)
{
	struct policy *policy, *again;

	(void)state;
	write_text("inner.yaml", "version: 1\nfiles: [{allow: [read], on: [\"${X}/inner\"]}]\n");
	write_text("outer.yaml", "version: 1\ninclude: [./inner.yaml]\n"
				 "files: [{allow: [read], on: [/nonexistent/outer]}]\n");
	policy = load(write_text("main.yaml",
				 HEAD "vars: [X=/nonexistent]\n"
				      "include: [./outer.yaml, ./inner.yaml]\n"
				      "files: [{allow: [read], on: [/nonexistent/main]}]\n"),
		      NULL);
	assert_int_equal(policy->nrules, 3);
	assert_string_equal(policy->rules[0].glob, "/nonexistent/inner");
	assert_string_equal(policy->rules[1].glob, "/nonexistent/outer");
	assert_string_equal(policy->rules[2].glob, "/nonexistent/main");
	assert_string_equal(policy->rules[0].place.file, in_dir("inner.yaml"));
	assert_int_equal(policy->nfiles, 3);
	/* The digest is of all text. */
	write_text("inner.yaml", "version: 1\nfiles: [{allow: [read], on: [\"${X}/Inner\"]}]\n");
	again = load(in_dir("main.yaml"), NULL);
	assert_memory_not_equal(policy->digest, again->digest, sizeof(policy->digest));
	policy_free(again);
	policy_free(policy);
}

/* A circle of includes is named; a chain has a bound. */
static void test_include_bounds(void **state)
{
	char name[32], text[128];
	int i;

	(void)state;
	write_text("c1.yaml", "version: 1\ninclude: [./c2.yaml]\n");
	write_text("c2.yaml", "version: 1\ninclude: [./c1.yaml]\n");
	expect_refusal(write_text("c0.yaml", HEAD "include: [./c1.yaml]\n"), NULL, EINVAL,
		       "c2.yaml:2:11: include ./c1.yaml: ");
	for (i = 1; i <= BH_MAX_INCLUDE_DEPTH + 1; i++) {
		snprintf(name, sizeof(name), "d%d.yaml", i);
		snprintf(text, sizeof(text), "version: 1\ninclude: [./d%d.yaml]\n", i + 1);
		write_text(name, text);
	}
	expect_refusal(write_text("d0.yaml", HEAD "include: [./d1.yaml]\n"), NULL, EINVAL,
		       "d8.yaml:2:11: include ./d9.yaml: nested deeper than 8");
}

/* The caller's variables win over the file's; a misspelt one is refused. */
static void test_vars(void **state)
{
	static const char *const good[] = {"X=/nonexistent/b", "Y=c", NULL};
	static const char *const unknown[] = {"Z=/c", "Y=c", NULL};
	static const char *const broken[] = {"X=b/c", NULL};
	const char *path = write_text("vars.yaml", HEAD "vars: [X=/nonexistent/a]\n"
							"files: [{allow: [read], on: "
							"[\"${X}/${Y}\"]}]\n");
	struct policy *policy = load(path, good);

	(void)state;
	assert_string_equal(policy->rules[0].glob, "/nonexistent/b/c");
	policy_free(policy);
	expect_refusal(path, unknown, EINVAL, "variable Z was set for a policy that has none");
	expect_refusal(path, broken, EINVAL, "variable X: \"b/c\" is neither");
	expect_refusal(path, NULL, EINVAL, "variable Y is not set");
}

/* A value is one name wherever it stands; what would be a wildcard in it is refused. */
static void test_var_values(void **state)
{
	static const struct {
		const char *value, *glob, *path;
	} cases[] = {
		{"X=/n/a,b", "{${X},/m}/c", "/n/a,b/c"}, {"X=/n/a\\[1\\]", "${X}/c", "/n/a[1]/c"},
		{"X=/n/\\x2a", "${X}/c", "/n/*/c"},	 {"X=/n/a\\$b", "${X}/c", "/n/a$b/c"},
		{"X=/n/\\xff", "${X}*", "/n/\xff."},	 {"X=/n/a b!^-", "{${X},/m}", "/n/a b!^-"},
	};
	static const char *const wild[] = {"X=/n/*", "X=/n/?", "X=/n/[ab]", "X=/n/{a,b}"};
	const char *vars[2] = {NULL, NULL};
	struct policy *policy;
	char text[256];
	size_t i;

	(void)state;
	for (i = 0; i < N_OF(cases); i++) {
		snprintf(text, sizeof(text), HEAD "files: [{allow: [read], on: ['%s']}]\n",
			 cases[i].glob);
		vars[0] = cases[i].value;
		policy = load(write_text("value.yaml", text), vars);
		if (!allows(policy, R, cases[i].path) || allows(policy, R, "/n/a"))
			fail_msg("%s in %s", cases[i].value, cases[i].glob);
		policy_free(policy);
	}
	for (i = 0; i < N_OF(wild); i++) {
		vars[0] = wild[i];
		expect_refusal(in_dir("value.yaml"), vars, EINVAL, "no wildcard and no ${}");
	}
	/* Behind a backslash ${X} is no variable. */
	policy = load(write_text("dollar.yaml",
				 HEAD "files: [{allow: [read], on: ['/n/\\$\\{X\\}']}]\n"),
		      NULL);
	assert_true(allows(policy, R, "/n/${X}"));
	policy_free(policy);
}

/* A rule with braces is one rule, named as it was written; tests take names with escapes. */
static void test_braces(void **state)
{
	const char *path =
		write_text("braces.yaml",
			   HEAD "files:\n"
				"  - {allow: [read], on: ['/n/{a,b/{c,d}}/*', '/n/\\*']}\n"
				"  - {deny: [read], on: ['/n/{x,b/d/[0-9]}']}\n"
				"tests:\n"
				"  - {allowed: {read: '/n/\\*'}, refused: {read: '/n/\\x78'}}\n"
				"  - {allowed: {read: '/n/b/c/\\['}, refused: {read: /n/b/d/7}}\n");
	struct policy *policy = load(path, NULL);
	const struct rule *rule;
	bool allowed;

	(void)state;
	assert_int_equal(policy->nrules, 3);
	assert_string_equal(policy->rules[0].glob, "/n/{a,b/{c,d}}/*");
	rule = policy_explain(policy, "/n/b/d/x", 8, R, &allowed);
	assert_true(allowed);
	assert_ptr_equal(rule, &policy->rules[0]);
	rule = policy_explain(policy, "/n/b/d/3", 8, R, &allowed);
	assert_false(allowed);
	assert_ptr_equal(rule, &policy->rules[2]);
	policy_free(policy);
	expect_refusal(write_text("dead.yaml", HEAD "files:\n"
						    "  - {deny: [read], on: ['/n/{a,b}/**']}\n"
						    "  - {allow: [read], on: ['/n/{a/?,b/x*}']}\n"),
		       NULL, EINVAL, "dead.yaml:7:26: /n/{a/?,b/x*} says nothing: line 6 denies");
}

/* Two rules that look alike and are not: none of them is called idle. */
static void test_no_false_alarm(void **state)
{
	const char *path = write_text(
		"alike.yaml",
		HEAD "files:\n"
		     "  - {deny: [write], on: [\"/n/a/**\", \"/n/b/*\", \"/n/**/c/d\"]}\n"
		     "  - {allow: [read, write], on: [/n/a/x, \"/n/a/**\"]}\n"
		     "  - {allow: [write], on: [\"/n/**\", \"/n/b/**\", \"/n/b\"]}\n"
		     "  - {allow: [write], on: [\"/n/*/c/*\", \"/n/**/c\", /n/ab]}\n"
		     "  - {allow: [write], on: [\"/n/{a,b}/*/x\", \"/n/b?/[?]\", '/n/b\\?']}\n"
		     "  - {allow: [read], on: [\"/n/**\"]}\n"
		     "  - {quiet: [write], on: [\"/n/a/**\"]}\n"
		     "  - {audit: [write], on: [\"/n/a*\"]}\n"
		     "  - {tripwire: [write], on: [\"/n/a/x/**\"]}\n");

	(void)state;
	policy_free(load(path, NULL));
	/* Not all of it may be written, or a rule says what then. */
	path = write_text("apart.yaml",
			  HEAD "files:\n"
			       "  - {allow: [write, create], on: [\"/n/a/*\", \"/n/b/**\"]}\n"
			       "  - {deny: [write, create], on: [\"/n/b/bin/**\"]}\n"
			       "  - {allow: [delete, attributes, read], on: [\"/n/c/**\"]}\n"
			       "  - {allow: [read, map-exec], on: [\"/n/a/*.so\"]}\n"
			       "exec:\n"
			       "  - {on: [\"/n/**\", \"/n/a/**\", \"/n/b/bin/*\", /n/c/x, /n/ab]}\n"
			       "  - {on: [\"/n/b/x/*\"]}\n"
			       "  - {on: [\"/n/b/x/**\"], written-inside: true}\n");
	policy_free(load(path, NULL));
}

/* glob_covers says so only of globs where every path agrees. */
static void test_covers(void **state)
{
	static const char *const parts[] = {"a",  "b",	   "*",	      "a*",	     "**",
					    "ab", "?",	   "[ab]",    "{a,b}",	     "\\x61",
					    "a?", "[!a]*", "{a,a/*}", "{**,b/[a-c]}"};
	static const char *const names[] = {"a", "b", "ab", "c"};
	char wide[64], narrow[64], path[64];
	unsigned int seed = 7, i, j, covered = 0;

	(void)state;
	for (i = 0; i < 20000; i++) {
		wide[0] = narrow[0] = '\0';
		for (j = rand_r(&seed) % 3 + 1; j; j--)
			sprintf(wide + strlen(wide), "/%s", parts[rand_r(&seed) % N_OF(parts)]);
		for (j = rand_r(&seed) % 4 + 1; j; j--)
			sprintf(narrow + strlen(narrow), "/%s", parts[rand_r(&seed) % N_OF(parts)]);
		if (!glob_covers(wide, narrow))
			continue;
		covered++;
		for (j = 0; j < 30; j++) {
			unsigned int k = rand_r(&seed) % 5;

			for (path[0] = '\0'; k; k--)
				sprintf(path + strlen(path), "/%s",
					names[rand_r(&seed) % N_OF(names)]);
			if (glob_match(narrow, path, strlen(path)) &&
			    !glob_match(wide, path, strlen(path)))
				fail_msg("%s does not cover %s: %s", wide, narrow, path);
		}
	}
	assert_in_range(covered, 1000, 19000);
}

/* Which rule is named: a deny before all, the allow that suffices, the quiet one of a refusal. */
static void test_explain(void **state)
{
	const char *path =
		write_text("explain.yaml", HEAD "files:\n"
						"  - {allow: [read], on: [\"/n/**\"]}\n"
						"  - {allow: [write], on: [/n/a]}\n"
						"  - {allow: [read, write], on: [\"/n/a*\"]}\n"
						"  - {deny: [write], on: [/n/ab]}\n"
						"  - {quiet: [write], on: [\"/n/q*\"]}\n"
						"  - {allow: [delete], on: [/n/q]}\n"
						"  - {tripwire: [read], on: [\"/n/t/**\"]}\n"
						"  - {audit: [read], on: [\"/n/w\"]}\n");
	static const struct {
		__u32 perms;
		const char *path;
		bool allowed;
		unsigned int line;
	} cases[] = {
		{R, "/n/x", true, 6},
		{R | W, "/n/a", true, 8},
		{W, "/n/ab", false, 9},
		{R | W, "/n/ab", false, 9},
		{W, "/n/q", false, 10},
		{R | BH_PERM_DELETE, "/n/q", true, 6},
		{BH_PERM_EXEC, "/n/a", false, 0},
		{BH_PERM_APPEND, "/n/a", true, 7},
		{R, "/other", false, 0},
		{0, "/n/a", false, 0},
		{R, "/n/t", false, 12},
		{R | BH_PERM_DELETE, "/n/t/q", false, 12},
		{R, "/n/w", true, 6},
	};
	struct policy *policy = load(path, NULL);
	size_t i;

	(void)state;
	for (i = 0; i < N_OF(cases); i++) {
		bool allowed;
		const struct rule *rule = policy_explain(
			policy, cases[i].path, strlen(cases[i].path), cases[i].perms, &allowed);

		assert_int_equal(allowed, cases[i].allowed);
		assert_int_equal(rule ? rule->place.line : 0, cases[i].line);
	}
	assert_int_equal(policy_watching(policy, "/n/w", 4, R | W)->place.line, 13);
	assert_null(policy_watching(policy, "/n/w", 4, W));
	assert_null(policy_watching(policy, "/n/x", 4, R));
	policy_free(policy);
}

/* What rules let be written does not run, whatever lets it run, but by a rule that says so. */
static void test_written(void **state)
{
	const char *path = write_text("written.yaml",
				      HEAD "files:\n"
					   "  - {allow: [read, write, create], on: [\"/n/w/**\"]}\n"
					   "  - {allow: [append], on: [/n/x/log]}\n"
					   "  - {allow: [delete, attributes], on: [\"/n/x/**\"]}\n"
					   "  - {allow: [interp, map-exec], on: [\"/n/**/*.so\"]}\n"
					   "  - {deny: [write, create], on: [\"/n/w/keep/**\"]}\n"
					   "  - {deny: [exec], on: [/n/w/bin/no]}\n"
					   "  - {quiet: [exec], on: [/n/w/quiet]}\n"
					   "exec:\n"
					   "  - {on: [\"/n/**\"], jit: true}\n"
					   "  - {on: [\"/n/w/bin/*\"], written-inside: true}\n");
	static const __u32 all = BH_PERM_EXEC | BH_PERM_MAP_EXEC | BH_PERM_JIT;
	static const struct {
		__u32 perms;
		const char *path;
		bool allowed;
		unsigned int line;
	} cases[] = {
		{BH_PERM_EXEC, "/n/w/a", false, 14},
		{BH_PERM_JIT, "/n/w/a", false, 14},
		{BH_PERM_MAP_EXEC, "/n/w/a.so", false, 9},
		{BH_PERM_INTERP, "/n/w/a.so", false, 9},
		{R | BH_PERM_EXEC, "/n/w/a", false, 14},
		{R | W, "/n/w/a", true, 6},
		{BH_PERM_EXEC, "/n/x/log", false, 14},
		/* Attributes make nothing that was not there, nor does deleting. */
		{all, "/n/x/a", true, 14},
		{all, "/n/w/keep/a", true, 14},
		{all, "/n/w/bin/a", true, 14},
		{BH_PERM_EXEC | BH_PERM_INTERP, "/n/w/bin/a.so", true, 9},
		{BH_PERM_EXEC, "/n/w/bin/a/b", false, 14},
		/* A deny goes before it, and a refusal by it is kept quiet as others are. */
		{BH_PERM_EXEC, "/n/w/bin/no", false, 11},
		{BH_PERM_MAP_EXEC, "/n/w/bin/no", true, 14},
		{BH_PERM_EXEC, "/n/w/quiet", false, 14},
	};
	struct policy *policy = load(path, NULL);
	struct automaton automaton = {0};
	struct error error = {0};
	struct bh_masks masks;

	(void)state;
	assert_int_equal(
		automaton_compile(policy->rules, policy->nrules, NULL, 0, &automaton, &error), 0);
	for (size_t i = 0; i < N_OF(cases); i++) {
		const char *name = cases[i].path;
		bool allowed;
		const struct rule *rule =
			policy_explain(policy, name, strlen(name), cases[i].perms, &allowed);

		if (allowed != cases[i].allowed || rule->place.line != cases[i].line)
			fail_msg("%s %#x: %d, line %u", name, cases[i].perms, allowed,
				 rule->place.line);
		automaton_walk(&automaton, 0, name, strlen(name), &masks);
		assert_int_equal(automaton_allows(masks.allow, cases[i].perms), allowed);
		assert_int_equal(masks.allow & ~(__u32)BH_PERM_ALL, 0);
	}
	assert_int_equal(masks.quiet, BH_PERM_EXEC);
	automaton_done(&automaton);
	policy_free(policy);
	expect_refusal(write_text("written-test.yaml", HEAD "files:\n"
							    "  - {allow: [write], on: [\"/n/*\"]}\n"
							    "exec:\n"
							    "  - {on: [\"/n/**\"]}\n"
							    "tests:\n"
							    "  - {allowed: {exec: /n/x}}\n"),
		       NULL, EINVAL,
		       "test failed: exec /n/x is refused: it may have been written inside, and "
		       "written-inside: true is not on ");
}

/* Links on the way of a literal head are followed; names that do not exist stay. */
static void test_resolve(void **state)
{
	static const struct {
		const char *glob, *resolved;
	} cases[] = {
		{"/usr/bin/ls", "/usr/bin/ls"},
		{"/bin/ls", "/usr/bin/ls"},
		{"/bin/missing/x", "/usr/bin/missing/x"},
		{"/bin/*", "/usr/bin/*"},
		{"/bin/**", "/usr/bin/**"},
		{"/bin", "/usr/bin"},
		{"/*/bin", "/*/bin"},
		{"/absolute/x", "/usr/bin/x"},
		{"/up/x", "/usr/x"},
		{"/above/x", "/x"},
		{"/top", "/"},
		{"/chain", "/usr/bin/ls"},
		{"/usr/bin/ls/not-a-directory", "/usr/bin/ls/not-a-directory"},
		{"/proc/self", "/proc/self"},
		{"/nowhere/a/**/b", "/nowhere/a/**/b"},
		{"@bin/ls", "@bin/ls"},
		{"/", "/"},
		{"/bin/l?", "/usr/bin/l?"},
		{"/bin/l[s]", "/usr/bin/l[s]"},
		{"/bin/{ls,cat}", "/usr/bin/{ls,cat}"},
		{"/b?n/ls", "/b?n/ls"},
		{"/bi{n,m}/ls", "/bi{n,m}/ls"},
		{"{/bin,/sbin}/ls", "{/bin,/sbin}/ls"},
		{"/bi\\x6e/\\*\\x78", "/usr/bin/\\*x"},
		{"/usr/\\x62in/l\\x73", "/usr/\\x62in/l\\x73"},
		{"/\\[odd\\]/ls", "/usr/bin/ls"},
		{"/star/x", "/a\\*b/x"},
		{"/pr\\x6fc/self", "/pr\\x6fc/self"},
	};
	struct resolver resolver = {.owner = geteuid()};
	struct error error = {0};
	char *resolved;
	size_t i;

	(void)state;
	mkdir(in_dir("root"), 0755);
	mkdir(in_dir("root/usr"), 0755);
	mkdir(in_dir("root/usr/bin"), 0755);
	mkdir(in_dir("root/proc"), 0755);
	write_text("root/usr/bin/ls", "");
	assert_int_equal(symlink("usr/bin", in_dir("root/bin")), 0);
	assert_int_equal(symlink("/bin/", in_dir("root/absolute")), 0);
	assert_int_equal(symlink("bin/..", in_dir("root/up")), 0);
	assert_int_equal(symlink("../../../.", in_dir("root/above")), 0);
	assert_int_equal(symlink("/", in_dir("root/top")), 0);
	assert_int_equal(symlink("//bin/./ls", in_dir("root/chain")), 0);
	assert_int_equal(symlink("loop", in_dir("root/loop")), 0);
	assert_int_equal(symlink("a*b", in_dir("root/star")), 0);
	assert_int_equal(symlink("usr/bin", in_dir("root/[odd]")), 0);
	assert_int_equal(symlink("1", in_dir("root/proc/self")), 0);
	resolver.root = open(in_dir("root"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (i = 0; i < N_OF(cases); i++) {
		assert_int_equal(resolve_glob(&resolver, cases[i].glob, &resolved, &error), 0);
		assert_string_equal(resolved, cases[i].resolved);
		free(resolved);
	}
	assert_int_equal(resolve_glob(&resolver, "/loop/x", &resolved, &error), -EINVAL);
	assert_non_null(strstr(error.text, "more than 40 symbolic links"));
	/* Whoever owns the link could lead the rule elsewhere. */
	resolver.owner++;
	assert_int_equal(resolve_glob(&resolver, "/bin/ls", &resolved, &error), -EINVAL);
	assert_non_null(strstr(error.text, "could change it"));
	close(resolver.root);
}

/* Rules are written down as resolved; two names of one place are no duplicate. */
static void test_resolved_rules(void **state)
{
	const char *path = write_text("links.yaml", HEAD "files:\n  - {allow: [read], on: "
							 "[/bin/ls, /usr/bin/ls]}\n");
	const struct policy_options options = {.root = in_dir("root")};
	struct error error = {0};
	struct policy *policy;
	int r = policy_load(path, &options, &policy, &error);

	(void)state;
	if (geteuid()) {
		assert_int_equal(r, -EINVAL);
		assert_non_null(
			strstr(error.text, "links.yaml:6:26: /bin is a symbolic link of uid"));
		return;
	}
	assert_int_equal(r, 0);
	assert_string_equal(policy->rules[0].glob, "/usr/bin/ls");
	assert_string_equal(policy->rules[0].glob, policy->rules[1].glob);
	policy_free(policy);
}

/* A member that is root makes links of root's: where the rules let it, they lead no rule. */
static void test_members_links(void **state)
{
	static const struct {
		const char *files;
		const char *refusal; /* NULL: it loads */
	} cases[] = {
		{"[{allow: [create, delete], on: [/**]}, {allow: [read], on: [/bin/ls]}]",
		 "members.yaml:5:68: /bin is a symbolic link, and "},
		{"[{allow: [read], on: [/bin/ls]}, {allow: [create], on: [/bin]}]", NULL},
		{"[{allow: [write], on: [/**]}, {allow: [read], on: [/bin/ls]}]", NULL},
		{"[{allow: [create], on: [/**]}, {deny: [create], on: [\"/bi[n]\"]},"
		 " {allow: [read], on: [/bin/ls]}]",
		 NULL},
		{"[{allow: [create], on: [/**]}, {deny: [read], on: [/chain]}]", "/chain is a"},
		{"[{allow: [create], on: [/**]}, {deny: [read], on: [/usr/bin/ls]}]", NULL},
	};
	char root[PATH_MAX], text[512];
	const struct policy_options options = {.root = root};
	struct error error = {0};
	struct policy *policy;

	(void)state;
	if (geteuid())
		skip();
	strcpy(root, in_dir("root"));
	for (size_t i = 0; i < N_OF(cases); i++) {
		int r;

		snprintf(text, sizeof(text), HEAD "files: %s\n", cases[i].files);
		r = policy_load(write_text("members.yaml", text), &options, &policy, &error);
		if (!r)
			policy_free(policy);
		if (r != (cases[i].refusal ? -EINVAL : 0) ||
		    (r && !strstr(error.text, cases[i].refusal)))
			fail_msg("%s: %s", cases[i].files, r ? error.text : "it loads");
	}
}

/* A link that braces hide is told, not left to a rule that names nothing. */
static void test_hidden_links(void **state)
{
	static const char *const hidden[] = {"/{bin,lib}/ls", "/{usr/bin,absolute}/*",
					     "/usr/{bin/ls,../x,y}", "{/bin,/lib}/**"};
	char root[PATH_MAX];
	const struct policy_options options = {.root = root};
	struct error error = {0};
	struct policy *policy;
	char text[256];
	size_t i;

	(void)state;
	if (geteuid())
		skip();
	strcpy(root, in_dir("root"));
	for (i = 0; i < N_OF(hidden); i++) {
		snprintf(text, sizeof(text), HEAD "files:\n  - {deny: [read], on: [\"%s\"]}\n",
			 hidden[i]);
		assert_int_equal(policy_load(write_text("hidden.yaml", text), &options, &policy,
					     &error),
				 -EINVAL);
		if (!strstr(error.text, i == 2 ? "never stand" : "which braces hide"))
			fail_msg("%s: %s", hidden[i], error.text);
	}
	write_text("hidden.yaml", HEAD "files:\n  - {deny: [read], on: [\"/bin/{ls,cat}\"]}\n");
	assert_int_equal(policy_load(in_dir("hidden.yaml"), &options, &policy, &error), 0);
	assert_string_equal(policy->rules[0].glob, "/usr/bin/{ls,cat}");
	policy_free(policy);
}

/* policy_resolve takes a path, not a glob: its bytes mean themselves, before and after. */
static void test_resolve_path(void **state)
{
	const struct policy_resolve_options options = {.root = in_dir("root")};
	struct error error = {0};
	char *resolved;

	(void)state;
	assert_int_equal(policy_resolve(&options, "/usr/a*[b]\\{c", &resolved, &error), 0);
	assert_string_equal(resolved, "/usr/a*[b]\\{c");
	free(resolved);
	if (geteuid())
		skip();
	assert_int_equal(policy_resolve(&options, "/star/?", &resolved, &error), 0);
	assert_string_equal(resolved, "/a*b/?");
	free(resolved);
}

/* What is no policy at all: too large, too many rules, too deep, not a file, not there. */
static void test_bounds(void **state)
{
	static char big[BH_MAX_POLICY_BYTES + 2];
	char *end = stpcpy(big, HEAD "files:\n  - allow: [read]\n    on:\n");
	int i;

	(void)state;
	for (i = 0; i <= BH_MAX_RULES; i++)
		end += sprintf(end, "      - /n/%d\n", i);
	expect_refusal(write_text("rules.yaml", big), NULL, EINVAL,
		       "16392:9: more than 16384 rules");
	end = stpcpy(big, HEAD "files:\n  - allow: [read]\n    on:\n");
	for (i = 0; i <= 64; i++)
		end += sprintf(
			end, "      - '/n/%d/{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}'\n",
			i);
	expect_refusal(write_text("branches.yaml", big), NULL, EINVAL,
		       "72:9: more than 65536 globs, braces written out");
	memset(big, ' ', sizeof(big) - 1);
	expect_refusal(write_text("big.yaml", big), NULL, EINVAL, "larger than a policy may be");
	memset(big, '[', 200000);
	big[200000] = '\0';
	expect_refusal(write_text("deep.yaml", big), NULL, EINVAL, "1:9: nested too deeply");
	/* 25 GB, were it written out. */
	end = big +
	      sprintf(big, HEAD "vars: [\"X=%0500000d\"]\nfiles: [{allow: [read], on: [\"/", 0);
	for (i = 0; i < 50000; i++)
		end = stpcpy(end, "${X}");
	strcpy(end, "\"]}]\n");
	expect_refusal(write_text("vars.yaml", big), NULL, EINVAL, "variables written out");
	assert_int_equal(mkfifo(in_dir("fifo.yaml"), 0600), 0);
	expect_refusal(in_dir("fifo.yaml"), NULL, EINVAL, "not a regular file");
	expect_refusal(dir, NULL, EINVAL, "not a regular file");
	expect_refusal(in_dir("none.yaml"), NULL, ENOENT, "none.yaml: No such file");
}

/* Root does not take a policy that others can change. */
static void test_ownership(void **state)
{
	const char *path = write_text("owned.yaml", HEAD);

	(void)state;
	if (geteuid()) {
		chmod(path, 0666);
		policy_free(load(path, NULL));
		return;
	}
	chmod(path, 0664);
	expect_refusal(path, NULL, EINVAL,
		       "owned.yaml: others than root may write to it: chmod go-w");
	chmod(path, 0644);
	assert_int_equal(chown(path, 1000, 0), 0);
	expect_refusal(path, NULL, EINVAL, "owned.yaml: owned by uid 1000");
}

/* Nor one that others can put another in the place of, wherever on the way they could. */
static void test_directories(void **state)
{
	char inner[256], file[300], link[256], text[400];

	(void)state;
	snprintf(inner, sizeof(inner), "%s/in*ner", dir);
	snprintf(file, sizeof(file), "%s/policy.yaml", inner);
	snprintf(link, sizeof(link), "%s/link.yaml", dir);
	assert_int_equal(mkdir(inner, 0755), 0);
	assert_int_equal(rename(write_text("policy.yaml", HEAD), file), 0);
	assert_int_equal(symlink(file, link), 0);
	policy_free(load(link, NULL));
	if (geteuid())
		skip();
	assert_int_equal(chmod(inner, 0775), 0);
	snprintf(text, sizeof(text), "others than root could put another file there: chmod go-w %s",
		 inner);
	expect_refusal(file, NULL, EINVAL, text);
	expect_refusal(link, NULL, EINVAL, text);
	/* What is root's own stays, as in /tmp. */
	assert_int_equal(chmod(inner, 01777), 0);
	policy_free(load(file, NULL));
	assert_int_equal(chmod(inner, 0755) || chown(inner, 1000, 0), 0);
	expect_refusal(file, NULL, EINVAL, "is a directory of uid 1000");
	assert_int_equal(chown(inner, 0, 0), 0);
	assert_int_equal(lchown(link, 1000, 0), 0);
	expect_refusal(link, NULL, EINVAL, "is a symbolic link of uid 1000");
}

/* A policy with any bytes broken loads or is refused with a place; nothing else happens. */
static void test_mutations(void **state)
{
	static const char bytes[] = "\n\t -:{}[]\"'*&!|>%@`#,?\\$~\x80\xff\x00aZ/0";
	static char text[1 << 16], mutant[1 << 16];
	size_t length = read_bytes(in_dir("policies/demo.yaml"), text, sizeof(text));
	const char *path = in_dir("policies/mutant.yaml");
	unsigned int seed = 11, i, j;

	(void)state;
	for (i = 0; i < 300; i++) {
		struct error error = {0};
		struct policy *policy = NULL;

		memcpy(mutant, text, length);
		for (j = rand_r(&seed) % 4 + 1; j; j--)
			mutant[rand_r(&seed) % length] = bytes[rand_r(&seed) % (sizeof(bytes) - 1)];
		write_bytes(path, mutant, rand_r(&seed) % 8 ? length : rand_r(&seed) % length);
		if (try_load(path, NULL, &policy, &error) == 0) {
			policy_free(policy);
			continue;
		}
		assert_null(policy);
		if (!strstr(error.text, ".yaml"))
			fail_msg("no place: %s", error.text);
	}
	assert_int_equal(unlink(path), 0);
}

/* Rights and their words, both ways. */
static void test_perm_words(void **state)
{
	char text[128], small[8];

	(void)state;
	assert_int_equal(perm_from_text("map-exec"), BH_PERM_MAP_EXEC);
	assert_int_equal(perm_from_text("jit"), BH_PERM_JIT);
	assert_int_equal(perm_from_text("Read"), 0);
	assert_int_equal(perm_from_text(""), 0);
	assert_string_equal(perms_to_text(R | BH_PERM_CONNECT, text, sizeof(text)), "read,connect");
	assert_string_equal(perms_to_text(0, text, sizeof(text)), "");
	assert_string_equal(perms_to_text(R | W, small, sizeof(small)), "read,wr");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_bad_all),
		cmocka_unit_test(test_all_keys),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_hardlinks),
		cmocka_unit_test(test_include_alone),
		cmocka_unit_test(test_demo),
		cmocka_unit_test(test_includes),
		cmocka_unit_test(test_include_bounds),
		cmocka_unit_test(test_vars),
		cmocka_unit_test(test_no_false_alarm),
		cmocka_unit_test(test_covers),
		cmocka_unit_test(test_explain),
		cmocka_unit_test(test_resolve),
		cmocka_unit_test(test_resolved_rules),
		cmocka_unit_test(test_members_links),
		cmocka_unit_test(test_hidden_links),
		cmocka_unit_test(test_resolve_path),
		cmocka_unit_test(test_var_values),
		cmocka_unit_test(test_braces),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_ownership),
		cmocka_unit_test(test_directories),
		cmocka_unit_test(test_mutations),
		cmocka_unit_test(test_perm_words),
		cmocka_unit_test(test_written),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
