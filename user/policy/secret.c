// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "secret.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

#define N_OF(array) (sizeof(array) / sizeof(*(array)))

static const char credential[] = "a credential, by its name";
static const char account[] = "belongs to an account outside";
static const char code[] = "changes what code runs";
static const char session[] = "leads to a daemon or session outside";

/*
 * Upper and lower case count alike. Sources of what changes code: ld.so(8) (secure-execution mode), bash(1) (Shell
 * Variables, INVOCATION), python(1), perlrun(1), ruby(1), node(1), git(1), java's JDK_JAVA_OPTIONS, sudo's list of what it
 * never keeps (env_delete, sudoers(5)); of sessions: systemd.exec(5), sd_listen_fds(3), docker(1), ssh-agent(1).
 */
static const struct {
	const char *pattern, *why;
} names[] = {
	{"*secret*", credential},
	{"*password*", credential},
	{"*passwd*", credential},
	{"*passphrase*", credential},
	{"*_pass", credential},
	{"*_pwd", credential},
	{"*credential*", credential},
	{"*_token*", credential},
	{"*authtoken*", credential},
	{"*accesstoken*", credential},
	{"token", credential},
	{"*api*key*", credential},
	{"*access*key*", credential},
	{"*private*key*", credential},
	{"*_key", credential},
	{"*_pat", credential},
	{"*_auth", credential},
	{"*authorization*", credential},
	{"*cookie*", credential},
	{"*_dsn", credential},
	{"*database_url", credential},
	{"*redis_url", credential},
	{"*mongo*_ur[il]", credential},
	{"aws_*", account},
	{"azure_*", account},
	{"google_*", account},
	{"gcp_*", account},
	{"vault_*", account},
	{"pgpass*", credential},
	{"pgservice*", account},
	{"netrc", account},
	{"kubeconfig", account},
	{"krb5*", account},
	{"ld_*", code},
	{"glibc_tunables", code},
	{"gconv_path", code},
	{"getconf_dir", code},
	{"hostaliases", code},
	{"localdomain", code},
	{"locpath", code},
	{"malloc_*", code},
	{"nis_path", code},
	{"nlspath", code},
	{"resolv_host_conf", code},
	{"res_options", code},
	{"tzdir", code},
	{"bash_env", code},
	{"bash_func_*", code},
	{"bashopts", code},
	{"shellopts", code},
	{"env", code},
	{"ifs", code},
	{"cdpath", code},
	{"globignore", code},
	{"ps4", code},
	{"prompt_command", code},
	{"fpath", code},
	{"zdotdir", code},
	{"python*", code},
	{"perl*", code},
	{"ruby*", code},
	{"gem_*", code},
	{"bundle_*", code},
	{"node_options", code},
	{"node_path", code},
	{"node_repl_*", code},
	{"npm_config_*", code},
	{"electron_*", code},
	{"java_tool_options", code},
	{"_java_options", code},
	{"jdk_java_options", code},
	{"classpath", code},
	{"dotnet_startup_hooks", code},
	{"cor*_profiler*", code},
	{"lua_*", code},
	{"php*", code},
	{"tcllibpath", code},
	{"rustc*", code},
	{"cargo_*", code},
	{"git_[!ac]*", code},
	{"git_config*", code},
	{"git_c[!o]*", code},
	{"git_comm[!i]*", code},
	{"git_a[!u]*", code},
	{"pager", code},
	{"manpager", code},
	{"editor", code},
	{"visual", code},
	{"browser", code},
	{"less*", code},
	{"openssl_*", code},
	{"gtk_*", code},
	{"qt_*", code},
	{"gio_*", code},
	{"gst_*", code},
	{"terminfo*", code},
	{"termcap", code},
	{"*_proxy", session},
	{"ssh_*", session},
	{"gpg_*", session},
	{"gnupghome", session},
	{"dbus_*", session},
	{"xdg_runtime_dir", session},
	{"xdg_session_*", session},
	{"docker_*", session},
	{"container_host", session},
	{"listen_fds", session},
	{"listen_pid", session},
	{"listen_fdnames", session},
	{"notify_socket", session},
	{"watchdog_*", session},
	{"mainpid", session},
	{"managerpid", session},
	{"journal_stream", session},
	{"invocation_id", session},
	{"display", session},
	{"wayland_display", session},
	{"xauthority", session},
	{"tmux*", session},
	{"sty", session},
	{"sudo_*", session},
	{"bulkhead_*", session},
};

const char *secret_name(const char *name)
{
	for (size_t i = 0; i < N_OF(names); i++)
		if (!fnmatch(names[i].pattern, name, FNM_CASEFOLD | FNM_NOESCAPE))
			return names[i].why;
	return NULL;
}

bool secret_may_be_set(const char *name)
{
	const char *why = secret_name(name);

	return !why || why == session || why == account;
}

bool secret_is_credential(const char *name)
{
	return secret_name(name) == credential;
}

bool secret_is_name(const char *name, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (name[i] != '_' && !isalpha((unsigned char)name[i]) &&
		    (!i || !isdigit((unsigned char)name[i])))
			return false;
	return length > 0;
}

/* --- values --- */

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ" DIGITS
#define PLAIN LETTERS DIGITS
#define BASE64 LETTERS DIGITS "-_"

/* As their issuers write them: a beginning, and at least so many of certain bytes behind it. Published by those who search
 * for them: GitHub's secret scanning patterns, and each issuer's own pages. */
static const struct {
	const char *head, *bytes;
	size_t least;
	const char *what;
} shapes[] = {
	{"sk-ant-", BASE64, 20, "an Anthropic key"},
	{"sk-proj-", BASE64, 20, "an OpenAI key"},
	{"sk-", BASE64, 20, "an API key"},
	{"ghp_", PLAIN, 20, "a GitHub token"},
	{"gho_", PLAIN, 20, "a GitHub token"},
	{"ghu_", PLAIN, 20, "a GitHub token"},
	{"ghs_", PLAIN, 20, "a GitHub token"},
	{"ghr_", PLAIN, 20, "a GitHub token"},
	{"github_pat_", BASE64, 20, "a GitHub token"},
	{"glpat-", BASE64, 16, "a GitLab token"},
	{"xoxa-", BASE64, 10, "a Slack token"},
	{"xoxb-", BASE64, 10, "a Slack token"},
	{"xoxp-", BASE64, 10, "a Slack token"},
	{"xoxr-", BASE64, 10, "a Slack token"},
	{"xoxs-", BASE64, 10, "a Slack token"},
	{"AKIA", UPPER, 16, "an AWS access key"},
	{"ASIA", UPPER, 16, "an AWS access key"},
	{"AIza", BASE64, 35, "a Google API key"},
	{"ya29.", BASE64, 20, "a Google access token"},
	{"hf_", PLAIN, 30, "a Hugging Face token"},
	{"npm_", PLAIN, 30, "an npm token"},
	{"pypi-", BASE64, 20, "a PyPI token"},
	{"dop_v1_", PLAIN, 30, "a DigitalOcean token"},
	{"sk_live_", PLAIN, 16, "a Stripe key"},
	{"rk_live_", PLAIN, 16, "a Stripe key"},
	{"SG.", BASE64, 20, "a SendGrid key"},
	{"eyJ", BASE64, 20, "a JSON web token"},
	{"hvs.", BASE64, 20, "a Vault token"},
};

static const char *shape_at(const char *text)
{
	for (size_t i = 0; i < N_OF(shapes); i++) {
		size_t head = strlen(shapes[i].head);

		if (!strncmp(text, shapes[i].head, head) &&
		    strspn(text + head, shapes[i].bytes) >= shapes[i].least)
			return shapes[i].what;
	}
	return NULL;
}

/* "scheme://user:password@host" */
static bool has_login(const char *value)
{
	const char *at;

	for (; (value = strstr(value, "://")); value += 3) {
		at = value + 3 + strcspn(value + 3, "@/ ");
		if (*at == '@' && memchr(value + 3, ':', (size_t)(at - value - 3)))
			return true;
	}
	return false;
}

const char *secret_value(const char *value)
{
	const char *what = NULL;

	if (strstr(value, "PRIVATE KEY-----"))
		return "a private key";
	if (has_login(value))
		return "a URL with a password";
	/* Where a word begins: what is in the middle of one has another meaning. */
	for (const char *p = value; *p && !what; p++)
		if (p == value || !isalnum((unsigned char)p[-1]))
			what = shape_at(p);
	return what;
}
