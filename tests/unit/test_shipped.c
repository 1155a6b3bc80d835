// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is shipped in policies/: every file loads and compiles, and each promise of the provider policies
 * and of deny/ is a row, asked of the rules and of the automaton. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "policy/authority.h"
#include "policy/rewrite.h"
#include "tree.h"

#define R BH_PERM_READ
#define W BH_PERM_WRITE
#define C BH_PERM_CREATE
#define D BH_PERM_DELETE
#define A BH_PERM_ATTRIBUTES
#define L BH_PERM_LINK
#define X BH_PERM_EXEC
#define M BH_PERM_MAP_EXEC
#define J BH_PERM_JIT
#define S BH_PERM_CONNECT
#define I BH_PERM_IOCTL

#define N_OF(array) (sizeof(array) / sizeof(*(array)))
#define HEAD "version: 1\nname: t\nmode: enforce\nnetwork: none\n"
#define VARS "vars: [WORKSPACE=/srv/p/ws, HOME=/srv/p/home, SSH_AUTH_SOCK=/run/agent.sock]\n"

static char dir[] = "/tmp/test_shipped.XXXXXX";
static char include_dir[64];

static int set_up(void **state)
{
	(void)state;
	umask(022);
	if (!mkdtemp(dir))
		return -1;
	snprintf(include_dir, sizeof(include_dir), "%s/policies", dir);
	return tree_copy("policies", include_dir);
}

static int tear_down(void **state)
{
	(void)state;
	return tree_remove(dir);
}

static struct policy *load(const char *path, const char *const *vars)
{
	const struct policy_options options = {.include_dir = include_dir, .vars = vars};
	struct error error = {0};
	struct policy *policy = NULL;

	if (policy_load(path, &options, &policy, &error) < 0)
		fail_msg("%s", error.text);
	return policy;
}

static struct policy *load_text(const char *text)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/text.yaml", dir);
	write_bytes(path, text, strlen(text));
	return load(path, NULL);
}

static struct policy *load_file(const char *name, const char *const *vars)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", include_dir, name);
	return load(path, vars);
}

static void compile(const struct policy *policy, struct automaton *ret)
{
	struct error error = {0};

	if (automaton_compile(policy->rules, policy->nrules, NULL, 0, ret, &error) < 0)
		fail_msg("%s: %s", policy->path, error.text);
}

/* --- every file --- */

static unsigned int policies, includes;

/* An include cannot be checked alone. */
static struct policy *load_wrapped(const char *name)
{
	char text[512];

	snprintf(text, sizeof(text), HEAD VARS "include: [%s]\n", name);
	return load_text(text);
}

/* Written out again, it says the same. */
static void check_rewritten(const char *path, const struct policy *policy)
{
	struct policy_options options = {.include_dir = include_dir};
	_cleanup_free_ char *text = NULL;
	struct policy *again = NULL;
	struct error error = {0};
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	assert_int_equal(policy_rewrite(path, &(struct rewrite){0}, to, &error), 0);
	fclose(to);
	options.text = text;
	if (policy_load(path, &options, &again, &error) < 0)
		fail_msg("%s in\n%s", error.text, text);
	assert_string_equal(again->name, policy->name);
	assert_int_equal(again->keep, policy->keep);
	assert_int_equal(again->proc, policy->proc);
	assert_int_equal(again->nrules, policy->nrules);
	for (size_t i = 0; i < policy->nrules; i++) {
		assert_string_equal(again->rules[i].glob, policy->rules[i].glob);
		assert_int_equal(again->rules[i].perms, policy->rules[i].perms);
		assert_int_equal(again->rules[i].effect, policy->rules[i].effect);
	}
	policy_free(again);
}

static int load_shipped(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	const char *name = path + strlen(include_dir) + 1;
	struct automaton automaton;
	struct policy *policy;
	char include[64];

	(void)st;
	(void)ftw;
	if (type != FTW_F)
		return 0;
	snprintf(include, sizeof(include), "%.*s", (int)(strlen(name) - strlen(".yaml")), name);
	if (strchr(name, '/')) {
		policy = load_wrapped(include);
		includes++;
	} else {
		policy = load(path, NULL);
		/* A file is called as what it names. */
		assert_string_equal(policy->name, include);
		check_rewritten(path, policy);
		policies++;
	}
	assert_true(policy->nrules > 0);
	compile(policy, &automaton);
	automaton_done(&automaton);
	policy_free(policy);
	return 0;
}

/* Every file of policies/ loads, its tests pass, it compiles and can be written out again; none is of
 * a kind not known here. */
static void test_files(void **state)
{
	(void)state;
	assert_int_equal(nftw(include_dir, load_shipped, 8, FTW_PHYS), 0);
	assert_int_equal(policies, 6);
	assert_int_equal(includes, 19);
}

/* --- promises --- */

struct row {
	__u32 perms; /* one right where it is refused: several would be refused for any of them */
	const char *path;
	bool allowed;
};

static void ask(const struct policy *policy, const struct row *rows, size_t n)
{
	struct automaton automaton;
	struct bh_masks masks;
	bool allowed;
	size_t i;

	compile(policy, &automaton);
	for (i = 0; i < n; i++) {
		const struct row *row = &rows[i];

		assert_true(row->allowed || (row->perms & (row->perms - 1)) == 0);
		policy_explain(policy, row->path, strlen(row->path), row->perms, &allowed);
		if (allowed != row->allowed)
			fail_msg("%s: %x %s", policy->name, row->perms, row->path);
		automaton_walk(&automaton, 0, row->path, strlen(row->path), &masks);
		if (((row->perms & ~masks.allow) == 0) != row->allowed)
			fail_msg("%s: automaton: %x %s", policy->name, row->perms, row->path);
	}
	automaton_done(&automaton);
}

/* What an includer of deny/ gets that allows everything: without the includes each row is allowed. */
static const struct row wide[] = {
	/* credentials: homes of root, of users, of services, and a workspace */
	{R, "/etc/shadow", 0},
	{R, "/etc/shadow-", 0},
	{R, "/etc/gshadow", 0},
	{R, "/var/backups/shadow.bak", 0},
	{R, "/root/.ssh/id_rsa", 0},
	{R, "/home/alice/.ssh/id_ed25519", 0},
	{R, "/home/alice/.ssh/github", 0},
	{R, "/home/alice/.ssh/work/deploy", 0},
	{R, "/var/lib/runner/.ssh/identity", 0},
	{R, "/srv/p/ws/deploy/id_ecdsa", 0},
	{R, "/srv/p/ws/.ssh/id_ed25519_sk", 0},
	{R, "/home/alice/putty.ppk", 0},
	{R, "/etc/ssh/ssh_host_ed25519_key", 0},
	{R, "/root/.gnupg/private-keys-v1.d/0123.key", 0},
	{R, "/root/.gnupg/secring.gpg", 0},
	{R, "/root/.aws/credentials", 0},
	{R, "/srv/svc/.aws/sso/cache/0123.json", 0},
	{R, "/home/alice/.config/gcloud/access_tokens.db", 0},
	{R, "/srv/p/ws/application_default_credentials.json", 0},
	{R, "/home/alice/.azure/msal_token_cache.json", 0},
	{R, "/home/alice/.config/hcloud/cli.toml", 0},
	{R, "/home/alice/.kube/config", 0},
	{R, "/etc/kubernetes/admin.conf", 0},
	{R, "/run/secrets/kubernetes.io/serviceaccount/token", 0},
	{R, "/home/alice/.docker/config.json", 0},
	{R, "/run/user/1000/containers/auth.json", 0},
	{R, "/run/credentials/x.service/token", 0},
	{R, "/home/alice/.npmrc", 0},
	{R, "/srv/p/ws/packages/a/.npmrc", 0},
	{R, "/home/alice/.pypirc", 0},
	{R, "/home/alice/.cargo/credentials.toml", 0},
	{R, "/home/alice/.m2/settings.xml", 0},
	{R, "/home/alice/.netrc", 0},
	{R, "/home/alice/.git-credentials", 0},
	{R, "/home/alice/.config/gh/hosts.yml", 0},
	{R, "/home/alice/.config/glab-cli/config.yml", 0},
	{R, "/srv/p/ws/.env", 0},
	{R, "/srv/p/ws/deep/er/.env.local", 0},
	{R, "/srv/p/ws/.env.production", 0},
	{R, "/etc/ssl/private/site.key", 0},
	{R, "/etc/letsencrypt/archive/site/privkey1.pem", 0},
	{R, "/srv/p/ws/certs/server.key", 0},
	{R, "/srv/p/ws/localhost-key.pem", 0},
	{R, "/srv/p/ws/site.p12", 0},
	{R, "/srv/p/ws/jwtRS256.key", 0},
	{R, "/srv/p/ws/service-account.json", 0},
	{R, "/srv/p/ws/client_secret_123.apps.example.json", 0},
	{R, "/home/alice/.mozilla/firefox/p/logins.json", 0},
	{R, "/home/alice/snap/firefox/common/.mozilla/firefox/p/key4.db", 0},
	{R, "/home/alice/.config/google-chrome/Default/Cookies", 0},
	{R, "/home/alice/.local/share/keyrings/login.keyring", 0},
	{R, "/home/alice/.password-store/mail.gpg", 0},
	{R, "/home/alice/secrets.kdbx", 0},
	{R, "/srv/p/ws/infra/terraform.tfstate", 0},
	{R, "/home/alice/.vault-token", 0},
	{R, "/home/alice/.config/sops/age/keys.txt", 0},
	{R, "/etc/wireguard/wg0.conf", 0},
	{R, "/etc/NetworkManager/system-connections/office.nmconnection", 0},
	{R, "/etc/krb5.keytab", 0},
	{R, "/tmp/krb5cc_1000", 0},
	{R, "/home/alice/.pgpass", 0},
	{R, "/root/.my.cnf", 0},
	{R, "/home/alice/.codex/auth.json", 0},
	{R, "/var/lib/agent/.claude/.credentials.json", 0},
	{R, "/home/alice/.cache/huggingface/token", 0},
	{R, "/etc/security/opasswd", 0},
	{R, "/home/alice/.boto", 0},
	{R, "/home/alice/.s3cfg", 0},
	{R, "/home/alice/.oci/config", 0},
	{R, "/home/alice/.fly/config.yml", 0},
	{R, "/home/alice/.railway/config.json", 0},
	{R, "/srv/p/ws/prod.kubeconfig", 0},
	{R, "/etc/rancher/k3s/k3s.yaml", 0},
	{R, "/var/lib/kubelet/pki/kubelet-client-current.pem", 0},
	{R, "/var/lib/rancher/k3s/server/node-token", 0},
	{R, "/srv/p/ws/kubernetes.io/serviceaccount/token", 0},
	{R, "/run/secrets/db-password", 0},
	{R, "/etc/credstore.encrypted/token", 0},
	{R, "/var/lib/systemd/credential.secret", 0},
	{R, "/home/alice/.gem/credentials", 0},
	{R, "/home/alice/.config/composer/auth.json", 0},
	{R, "/home/alice/.hex/hex.config", 0},
	{R, "/etc/pki/tls/private/site.key", 0},
	{R, "/var/lib/caddy/.local/share/caddy/certificates/ca/site/site.key", 0},
	{R, "/home/alice/.pki/nssdb/key4.db", 0},
	{R, "/home/alice/.terraform.d/credentials.tfrc.json", 0},
	{R, "/srv/p/ws/age-key.txt", 0},
	{R, "/etc/openvpn/client.conf", 0},
	{R, "/etc/ipsec.secrets", 0},
	{R, "/etc/swanctl/private/host.pem", 0},
	{R, "/var/lib/tailscale/tailscaled.state", 0},
	{R, "/home/alice/office.ovpn", 0},
	{R, "/run/NetworkManager/system-connections/x.nmconnection", 0},
	{R, "/etc/netplan/50-cloud-init.yaml", 0},
	{R, "/etc/systemd/network/wg0.netdev", 0},
	{R, "/etc/wpa_supplicant/wpa_supplicant.conf", 0},
	{R, "/var/lib/iwd/office.psk", 0},
	{R, "/etc/ppp/chap-secrets", 0},
	{R, "/run/user/1000/krb5cc/tkt", 0},
	{R, "/var/lib/krb5kdc/principal", 0},
	{R, "/var/lib/sss/secrets/secrets.ldb", 0},
	{R, "/etc/ldap.secret", 0},
	{R, "/etc/mysql/debian.cnf", 0},
	{R, "/home/alice/.config/rclone/rclone.conf", 0},
	{R, "/etc/cryptsetup-keys.d/root.key", 0},
	{R, "/var/lib/samba/private/secrets.tdb", 0},
	{R, "/home/alice/.gemini/oauth_creds.json", 0},
	{R, "/home/alice/.config/github-copilot/apps.json", 0},
	{R, "/home/alice/.local/share/opencode/auth.json", 0},
	/* daemons */
	{S, "/run/docker.sock", 0},
	{S, "/run/user/1000/docker.sock", 0},
	{S, "/run/containerd/containerd.sock", 0},
	{S, "/run/user/1000/podman/podman.sock", 0},
	{S, "/run/libvirt/libvirt-sock", 0},
	{S, "/var/lib/incus/unix.socket", 0},
	{S, "/var/snap/lxd/common/lxd/unix.socket", 0},
	{S, "/run/snapd.socket", 0},
	{S, "/run/systemd/private", 0},
	{S, "/run/user/1000/systemd/private", 0},
	{S, "/run/systemd/io.systemd.Manager", 0},
	{S, "/run/dbus/system_bus_socket", 0},
	{S, "/run/user/1000/bus", 0},
	{S, "@/tmp/dbus-AbCd", 0},
	{S, "/tmp/.X11-unix/X0", 0},
	{S, "@/tmp/.X11-unix/X0", 0},
	{S, "/run/user/1000/wayland-0", 0},
	{S, "/tmp/tmux-1000/default", 0},
	{S, "/run/user/1000/gnupg/S.gpg-agent", 0},
	{S, "/home/alice/.ssh/cm-host", 0},
	{S, "/run/cups/cups.sock", 0},
	{S, "/run/bulkhead/control.sock", 0},
	{S, "/srv/p/ws/docker.sock", 0},
	{S, "/run/docker/metrics.sock", 0},
	{S, "/run/podman/podman.sock.d/x", 0},
	{S, "/run/crio/crio.sock", 0},
	{S, "/run/buildkit/buildkitd.sock", 0},
	{S, "/run/k3s/containerd/containerd.sock.ttrpc", 0},
	{S, "/run/cri-dockerd.sock", 0},
	{S, "/run/user/1000/buildkit/buildkitd.sock", 0},
	{S, "/var/lib/kubelet/device-plugins/kubelet.sock", 0},
	{S, "@/containerd-shim/0123.sock", 0},
	{S, "/run/user/1000/libvirt/libvirt-sock", 0},
	{S, "/var/lib/lxd/unix.socket", 0},
	{S, "/run/qemu-server/100.qmp", 0},
	{S, "/run/snapd-snap.socket", 0},
	{S, "/run/user/1000/systemd/io.systemd.Manager", 0},
	{S, "/run/systemd/machine/io.systemd.Machine", 0},
	{S, "/run/udev/control", 0},
	{S, "/run/supervisord.sock", 0},
	{S, "/run/user/1000/at-spi/bus_0", 0},
	{S, "/tmp/dbus-AbCd", 0},
	{S, "/tmp/.ICE-unix/123", 0},
	{S, "/run/screen/S-alice/1.tty", 0},
	{S, "/run/user/1000/vscode-ipc-0123.sock", 0},
	{S, "/tmp/vscode-ipc-0123.sock", 0},
	{S, "/home/alice/.gnupg/S.gpg-agent", 0},
	{S, "/home/alice/.cache/git/credential/socket", 0},
	{S, "/run/pcscd/pcscd.comm", 0},
	{S, "/run/saslauthd/mux", 0},
	{S, "/var/lib/sss/pipes/private/pam", 0},
	{S, "/run/lvm/lvmpolld.socket", 0},
	{S, "/run/NetworkManager/private", 0},
	{S, "/run/wpa_supplicant/wlan0", 0},
	{S, "/run/tailscale/tailscaled.sock", 0},
	{S, "/run/openvswitch/db.sock", 0},
	{S, "@/org/kernel/linux/storage/multipathd", 0},
	{S, "/run/fail2ban/fail2ban.sock", 0},
	{S, "/run/haproxy/admin.sock", 0},
	{S, "/run/containerd/s/0123", 0},
	{S, "/run/incus/unix.socket", 0},
	{S, "/run/user/1000/dbus-1/x", 0},
	{S, "@/tmp/.ICE-unix/123", 0},
	{S, "/home/alice/.git-credential-cache/socket", 0},
	{S, "/run/frr/zserv.api", 0},
	{S, "/run/acpid.socket", 0},
	{S, "/run/avahi-daemon/socket", 0},
	/* persistence: the workspace's root, homes, the system */
	{W, "/srv/p/ws/.git/hooks/pre-commit", 0},
	{C, "/srv/p/ws/.git/hooks/pre-commit", 0},
	{W, "/srv/p/ws/.git/config", 0},
	{C, "/srv/p/ws/.git/commondir", 0},
	{D, "/srv/p/ws/.git", 0},
	{C, "/srv/p/ws/HEAD", 0},
	{C, "/srv/p/ws/.envrc", 0},
	{C, "/srv/p/ws/.vscode/tasks.json", 0},
	{C, "/srv/p/ws/.vscode", 0},
	{W, "/srv/p/ws/.mcp.json", 0},
	{C, "/srv/p/ws/.claude/settings.local.json", 0},
	{W, "/srv/p/home/.bashrc", 0},
	{BH_PERM_APPEND, "/srv/p/home/.zshenv", 0},
	{W, "/root/.profile", 0},
	{C, "/home/alice/.bash_aliases", 0},
	{C, "/srv/p/home/.config/systemd/user/x.service", 0},
	{C, "/home/alice/.config/autostart/x.desktop", 0},
	{C, "/srv/p/home/.local/bin/ls", 0},
	{A, "/srv/p/home/.ssh/authorized_keys", 0},
	{C, "/root/.ssh/authorized_keys", 0},
	{W, "/srv/p/home/.gitconfig", 0},
	{W, "/home/alice/.kube/config", 0},
	{W, "/srv/p/home/.claude/settings.json", 0},
	{C, "/srv/p/home/.claude/hooks/x.sh", 0},
	{W, "/srv/p/home/.codex/config.toml", 0},
	{C, "/etc/cron.d/x", 0},
	{W, "/var/spool/cron/crontabs/root", 0},
	{C, "/etc/profile.d/x.sh", 0},
	{C, "/etc/udev/rules.d/x.rules", 0},
	{W, "/etc/pam.d/sshd", 0},
	{C, "/etc/ld.so.preload", 0},
	{C, "/etc/systemd/system/x.service", 0},
	{L, "/usr/local/bin/x", 0},
	{C, "/srv/p/ws/mise.toml", 0},
	{C, "/srv/p/ws/.idea/runConfigurations/x.xml", 0},
	{C, "/srv/p/ws/.cursor/mcp.json", 0},
	{C, "/srv/p/home/.vimrc", 0},
	{W, "/home/alice/.zshrc", 0},
	{W, "/home/alice/.tmux.conf", 0},
	{C, "/srv/p/home/.local/share/dbus-1/services/x.service", 0},
	{C, "/home/alice/.local/share/systemd/user/x.service", 0},
	{C, "/home/alice/.local/bin/ls", 0},
	{C, "/srv/p/home/.local/lib/python3.11/site-packages/x.pth", 0},
	{C, "/home/alice/.local/lib/python3.11/site-packages/usercustomize.py", 0},
	{W, "/home/alice/.claude/settings.json", 0},
	{W, "/home/alice/.codex/config.toml", 0},
	{C, "/srv/p/home/.ssh", 0},
	{D, "/home/alice/.config", 0},
	{C, "/var/spool/at/a0001", 0},
	{C, "/run/systemd/system/x.service", 0},
	{C, "/etc/init.d/x", 0},
	{C, "/etc/rc.local", 0},
	{W, "/etc/nsswitch.conf", 0},
	{C, "/etc/modprobe.d/x.conf", 0},
	{C, "/etc/network/if-up.d/x", 0},
	{W, "/etc/gitconfig", 0},
	{C, "/run/udev/rules.d/x.rules", 0},
	{W, "/usr/bin/ls", 0},
	{C, "/usr/sbin/x", 0},
	{C, "/usr/lib/systemd/system/x.service", 0},
	{C, "/usr/lib64/x.so", 0},
	{C, "/usr/libexec/x", 0},
	{C, "/usr/share/applications/x.desktop", 0},
	{C, "/usr/local/lib/x.so", 0},
	{W, "/boot/vmlinuz", 0},
};

/* What the same includer still may: ordinary work, and names that look alike. */
static const struct row ordinary[] = {
	{R, "/usr/bin/env", 1},
	{R, "/etc/passwd", 1},
	{R, "/root/.ssh/id_rsa.pub", 1},
	{R, "/root/.ssh/config", 1},
	{R, "/root/.ssh/config.d/work", 1},
	{R, "/root/.ssh/known_hosts.old", 1},
	{R, "/srv/p/ws/.env.example", 1},
	{R, "/srv/p/ws/.env.test", 1},
	{R, "/srv/p/ws/.env/lib/python3.11/site.py", 1},
	{R, "/srv/p/ws/.environment", 1},
	{R, "/srv/p/ws/src/credentials.c", 1},
	{R, "/srv/p/ws/src/client_secret.py", 1},
	{R, "/srv/p/ws/node_modules/x/index.js", 1},
	{R, "/srv/p/ws/pkg/kubeconfig", 1},
	{R, "/usr/lib/python3/dist-packages/certifi/cacert.pem", 1},
	{R, "/etc/ssl/certs/ca-certificates.crt", 1},
	{R, "/usr/share/keyrings/debian-archive-keyring.gpg", 1},
	{R, "/root/.gnupg/pubring.kbx", 1},
	/* a name that is never read again can be written */
	{W | C, "/srv/p/ws/.npmrc", 1},
	{W | C, "/srv/p/ws/.env", 1},
	{W | C, "/srv/p/ws/deploy/id_ed25519", 1},
	/* the root's repository is worked in, and those below the root are free */
	{R, "/srv/p/ws/.git/config", 1},
	{W | C | D, "/srv/p/ws/.git/index.lock", 1},
	{C | A, "/srv/p/ws/.git/objects/ab/0123", 1},
	{W | C | D, "/srv/p/ws/.git/refs/heads/main", 1},
	{W | C, "/srv/p/ws/.git/COMMIT_EDITMSG", 1},
	{C, "/srv/p/ws/lib/.git", 1},
	{W | C | D, "/srv/p/ws/lib/.git/config", 1},
	{W | C | A, "/srv/p/ws/lib/.git/hooks/pre-commit.sample", 1},
	{W | C, "/srv/p/ws/lib/.vscode/tasks.json", 1},
	{W | C, "/srv/p/ws/lib/.mcp.json", 1},
	{W | C, "/srv/p/ws/lib/.bashrc", 1},
	{W, "/srv/p/ws/.vscode/settings.json", 1},
	{W | C, "/srv/p/ws/.gitignore", 1},
	{W | C, "/srv/p/ws/AGENTS.md", 1},
	{W | C, "/srv/p/ws/bin/tool", 1},
	{W | C, "/srv/ws/bin/tool", 1},
	{W | C, "/srv/p/ws/.cache/x", 1},
	{W | C, "/srv/p/home/.claude.json", 1},
	{W | C, "/srv/p/home/.codex/sessions/s.jsonl", 1},
	{W | C | D, "/srv/p/home/.cache/pip/x", 1},
	{W | C, "/var/lib/app/data", 1},
	/* data and news are not power */
	{S, "/run/systemd/notify", 1},
	{S, "/run/systemd/journal/socket", 1},
	{S, "/run/postgresql/.s.PGSQL.5432", 1},
	{S, "/run/user/1000/openssh_agent", 1},
	{S, "/home/alice/.ssh/agent/s.0123.agent.x", 1},
	{S, "/run/bulkhead/broker/github", 1},
	{S, "/srv/p/ws/app.sock", 1},
	{S, "@app", 1},
};

/* "*" stays within a name, in those of sockets too. */
#define WIDE                                                                                      \
	"files: [{allow: [read, write, create, delete, attributes, link, connect], on: [/**]}]\n" \
	"unix: {connect: [\"@*\", \"@/*/*\", \"@/*/*/*\", \"@/org/kernel/linux/storage/*\"]}\n"

static void test_deny(void **state)
{
	struct policy *policy = load_text(
		HEAD "vars: [WORKSPACE=/srv/p/ws, HOME=/srv/p/home]\n"
		     "include: [deny/credentials, deny/daemons, deny/persistence]\n" WIDE);
	struct policy *open = load_text(HEAD WIDE);
	bool allowed;
	size_t i;

	(void)state;
	ask(policy, wide, N_OF(wide));
	ask(policy, ordinary, N_OF(ordinary));
	for (i = 0; i < N_OF(wide); i++) {
		policy_explain(open, wide[i].path, strlen(wide[i].path), wide[i].perms, &allowed);
		if (!allowed)
			fail_msg("refused anyway: %s", wide[i].path);
	}
	policy_free(policy);
	policy_free(open);
}

/* deny/credentials says one thing: what is never read. */
static void test_credentials_are_read_denies(void **state)
{
	struct policy *policy = load_text(HEAD "include: [deny/credentials]\n");
	size_t i;

	(void)state;
	for (i = 0; i < policy->nrules; i++) {
		assert_int_equal(policy->rules[i].effect, RULE_DENY);
		assert_int_equal(policy->rules[i].perms, R);
	}
	policy_free(policy);
}

/* A home or workspace with links of its user's does not keep a policy from loading. */
static void test_links_of_users(void **state)
{
	static const char *const links[] = {".bashrc", ".gitconfig", ".npmrc", ".ssh",
					    ".config", ".vscode",    ".git",   ".envrc"};
	char text[2048], path[PATH_MAX];
	size_t i;

	(void)state;
	snprintf(path, sizeof(path), "%s/home", dir);
	assert_int_equal(mkdir(path, 0755), 0);
	for (i = 0; i < N_OF(links); i++) {
		snprintf(path, sizeof(path), "%s/home/%s", dir, links[i]);
		assert_int_equal(symlink("/nonexistent/dotfiles", path), 0);
		if (geteuid() == 0)
			assert_int_equal(lchown(path, 1000, 1000), 0);
	}
	snprintf(text, sizeof(text),
		 HEAD "vars: [WORKSPACE=%s/home, HOME=%s/home, SSH_AUTH_SOCK=/run/agent.sock]\n"
		      "include: [base/git, base/ssh-client, deny/persistence]\n",
		 dir, dir);
	policy_free(load_text(text));
}

static const struct row codex[] = {
	{X,
	 "/opt/cx/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
	 1},
	{X, "/opt/cx/vendor/x86_64-unknown-linux-musl/path/rg", 1},
	{X, "/opt/cx/vendor/x86_64-unknown-linux-musl/codex-resources/bwrap", 1},
	{X, "/usr/bin/bwrap", 1},
	{W, "/proc/self/uid_map", 1},
	{W, "/proc/self/mem", 0},
	{X, "/opt/cx/bin/codex.js", 1},
	{W, "/opt/cx/bin/codex.js", 0},
	{X | J, "/usr/bin/node", 1},
	{X, "/usr/bin/dash", 1},
	{X, "/usr/bin/git", 1},
	{X, "/usr/lib/git-core/git-remote-https", 1},
	{X, "/usr/bin/cat", 1},
	{X, "/usr/bin/stty", 1},
	{X, "/usr/bin/tty", 1},
	{X, "/usr/bin/tput", 1},
	{X, "/usr/bin/clear", 1},
	{X, "/usr/bin/sudo", 0},
	{X, "/usr/bin/mount", 0},
	{X, "/usr/bin/systemd-run", 0},
	{J, "/usr/bin/dash", 0},
	{R | W | C | D | A | L | X, "/w/src/a.out", 1},
	{I, "/w/src/a.tar", 1},
	{I, "/h/.codex/a.tar", 0},
	{R | W | C | D, "/t/scratch", 1},
	{X, "/t/scratch", 0},
	{R | W | C | D, "/h/.codex/history.jsonl", 1},
	{R, "/h/.codex/config.toml", 1},
	{W, "/h/.codex/config.toml", 0},
	{R, "/h/.codex/auth.json", 0},
	{X, "/h/.codex/x", 0},
	{R, "/h/.gitconfig", 1},
	{W, "/h/.gitconfig", 0},
	{R, "/h/notes", 0},
	{R, "/h/.ssh/id_rsa", 0},
	{R, "/w/.env", 0},
	{L, "/w/.git/hooks/pre-push", 0},
	{W | C, "/w/sub/.git/hooks/pre-push", 1},
	{S, "/run/docker.sock", 0},
	{S, "/run/nscd/socket", 0},
	{R, "/proc/self/status", 1},
	{R, "/dev/sda", 0},
};

static const struct row claude[] = {
	{X | J, "/opt/cc/claude", 1},
	{X, "/opt/cc/vendor/ripgrep/x64-linux/rg", 1},
	{J, "/opt/cc/vendor/ripgrep/x64-linux/rg", 0},
	{W, "/opt/cc/claude", 0},
	{R | W | C | D, "/h/.claude.json.tmp.7.8", 1},
	{R | W | C | D, "/h/.claude/todos/x.json", 1},
	{R, "/h/.claude/settings.json", 1},
	{W, "/h/.claude/settings.json", 0},
	{C, "/h/.claude/plugins/x/hook.sh", 0},
	{R, "/h/.claude/.credentials.json", 0},
	{R, "/h/.codex/auth.json", 0},
	{R | W | C | D, "/tmp/claude-1000/cwd-1", 1},
	{R, "/tmp/other", 0},
	{R | W | C | D | A | L | X, "/w/target/debug/x", 1},
	{I, "/w/target/a.tar", 1},
	{C, "/w/.mcp.json", 0},
	{C, "/w/.claude/settings.json", 0},
	{R, "/w/.npmrc", 0},
	{X, "/usr/bin/bash", 1},
	{X, "/usr/bin/su", 0},
	{S, "/run/user/1000/bus", 0},
};

static const struct row filesystem[] = {
	{X | J, "/usr/bin/node", 1},
	{X, "/usr/bin/dash", 0},
	{R, "/opt/m/node_modules/x/index.js", 1},
	{W, "/opt/m/node_modules/x/index.js", 0},
	{R | W | C | D | A, "/w/a/b.txt", 1},
	{R, "/w", 1},
	{R, "/wx", 0},
	{L, "/w/a", 0},
	{X, "/w/a", 0},
	{M, "/w/a.so", 0},
	{R, "/w/.env", 0},
	{R, "/w/keys/id_rsa", 0},
	{C, "/w/.vscode/tasks.json", 0},
	{W, "/w/.git/config", 0},
	{R, "/h/x", 0},
	{S, "/run/systemd/notify", 1},
	{S, "/run/systemd/private", 0},
};

static const struct row github[] = {
	{X | M, "/opt/gh-server", 1},
	{J, "/opt/gh-server", 0},
	{W, "/opt/gh-server", 0},
	{X, "/usr/bin/dash", 0},
	{M, "/usr/lib/x86_64-linux-gnu/libc.so.6", 0},
	{R, "/etc/ssl/certs/ca-certificates.crt", 1},
	{R, "/run/systemd/resolve/stub-resolv.conf", 1},
	{R, "/w/a", 0},
	{C, "/h/a", 0},
	{R, "/h/.config/gh/hosts.yml", 0},
	{S, "/run/systemd/notify", 1},
	{S, "/run/dbus/system_bus_socket", 0},
};

static void test_providers(void **state)
{
	static const struct {
		const char *file, *vars[5];
		enum bh_mode mode;
		const struct row *rows;
		size_t n;
	} cases[] = {
		{"codex.yaml",
		 {"CODEX=/opt/cx", "WORKSPACE=/w", "HOME=/h", "TMPDIR=/t"},
		 BH_MODE_AUDIT,
		 codex,
		 N_OF(codex)},
		{"claude-code.yaml",
		 {"CLAUDE=/opt/cc", "WORKSPACE=/w", "HOME=/h", "TMPDIR=/t"},
		 BH_MODE_AUDIT,
		 claude,
		 N_OF(claude)},
		{"mcp-filesystem.yaml",
		 {"SERVER=/opt/m", "WORKSPACE=/w", "HOME=/h"},
		 BH_MODE_ENFORCE,
		 filesystem,
		 N_OF(filesystem)},
		{"mcp-github.yaml",
		 {"SERVER=/opt/gh-server", "WORKSPACE=/w", "HOME=/h"},
		 BH_MODE_AUDIT,
		 github,
		 N_OF(github)},
	};
	struct policy *policy;
	size_t i;

	(void)state;
	for (i = 0; i < N_OF(cases); i++) {
		policy = load_file(cases[i].file, cases[i].vars);
		assert_int_equal(policy->mode, cases[i].mode);
		ask(policy, cases[i].rows, cases[i].n);
		policy_free(policy);
	}
}

/* git and ssh by their includes alone: keys never, whatever is allowed beside them. */
static void test_clients(void **state)
{
	static const struct row rows[] = {
		{X, "/usr/bin/git", 1},
		{X, "/usr/lib/git-core/git", 1},
		{R, "/srv/p/home/.config/git/ignore", 1},
		{R, "/srv/p/home/.config/git/credentials", 0},
		{R, "/usr/share/git-core/templates/hooks/pre-commit.sample", 1},
		{X, "/usr/bin/ssh", 1},
		{R, "/etc/ssh/ssh_config", 1},
		{R, "/etc/ssh/ssh_config.d/10-x.conf", 1},
		{R, "/etc/ssh/ssh_host_rsa_key", 0},
		{R, "/srv/p/home/.ssh/known_hosts", 1},
		{R, "/srv/p/home/.ssh/id_rsa.pub", 1},
		{R, "/srv/p/home/.ssh/id_rsa", 0},
		{S, "/run/agent.sock", 1},
		{S, "/run/other.sock", 0},
	};
	static const struct row keys[] = {
		{R, "/srv/p/home/.ssh/id_rsa", 0},
		{R, "/srv/p/home/.ssh/work", 0},
		{R, "/etc/ssh/ssh_host_rsa_key", 0},
		{R, "/srv/p/home/.ssh/authorized_keys.pub", 1},
	};
	struct policy *policy = load_text(HEAD VARS "include: [base/git, base/ssh-client]\n");

	(void)state;
	ask(policy, rows, N_OF(rows));
	policy_free(policy);
	/* Or what the include lets run would be written inside. */
	policy = load_text(HEAD VARS "include: [base/ssh-client]\n" WIDE
				     "exec: [{on: [/**], written-inside: true}]\n");
	ask(policy, keys, N_OF(keys));
	policy_free(policy);
}

/* What python makes in /dev/shm, by its names alone; new terminals only where they are asked for. */
static void test_runtimes(void **state)
{
	static const struct row python[] = {
		{R | W | C | D | L, "/dev/shm/sem.mp-0123", 1},
		{R | W | C | D, "/dev/shm/pym-12-0123", 1},
		{R | W | C | D, "/dev/shm/psm_0123", 1},
		{M, "/dev/shm/pym-12-0123", 0},
		{L, "/dev/shm/psm_0123", 0},
		{R, "/dev/shm/pym", 0},
		{R, "/dev/shm/psm", 0},
		{R, "/dev/shm/other", 0},
		{R, "/dev/shm", 0},
		{R, "/etc/debian_version", 1},
		{R, "/etc/debian_version.d", 0},
		{R, "/etc", 0},
		{R, "/etc/hostname", 0},
	};
	static const struct row tty[] = {
		{R | W | I, "/dev/tty", 1},
		{R, "/dev/ptmx", 0},
		{W, "/dev/pts/0", 0},
	};
	static const struct row pty[] = {
		{R | W | I, "/dev/ptmx", 1},
		{R | W | I, "/dev/pts/0", 1},
		{R | W | I, "/dev/pts/ptmx", 1},
		{X, "/usr/lib/x86_64-linux-gnu/utempter/utempter", 0},
		{C, "/dev/pts/0", 0},
		{A, "/dev/pts/0", 0},
		{R, "/dev/tty1", 0},
		{R, "/dev/pts/0/x", 0},
	};
	struct policy *policy = load_text(HEAD "include: [base/python]\n");

	(void)state;
	ask(policy, python, N_OF(python));
	policy_free(policy);
	policy = load_text(HEAD "include: [base/tty]\n");
	ask(policy, tty, N_OF(tty));
	policy_free(policy);
	policy = load_text(HEAD "include: [base/pty]\n");
	ask(policy, pty, N_OF(pty));
	policy_free(policy);
}

/* Under a root where no program is a link, so that the list is the same on every machine. */
static struct policy *load_unlinked(const char *name)
{
	char path[PATH_MAX], root[64];
	const struct policy_options options = {.include_dir = include_dir, .root = root};
	struct policy *policy = NULL;
	struct error error = {0};

	snprintf(root, sizeof(root), "%s/root", dir);
	if (!mkdir(root, 0755)) {
		snprintf(path, sizeof(path), "%s/lib", root);
		assert_int_equal(symlink("usr/lib", path), 0);
		snprintf(path, sizeof(path), "%s/bin", root);
		assert_int_equal(symlink("usr/bin", path), 0);
	}
	snprintf(path, sizeof(path), "%s/%s.yaml", include_dir, name);
	if (policy_load(path, &options, &policy, &error) < 0)
		fail_msg("%s", error.text);
	return policy;
}

#define GIT                                                                   \
	"/usr/bin/git /usr/bin/git-receive-pack /usr/bin/git-upload-archive " \
	"/usr/bin/git-upload-pack "                                           \
	"/usr/lib/git-core/* "
#define SHELL                                                                                      \
	"/usr/bin/sh /usr/bin/dash /usr/bin/bash /usr/bin/env /usr/bin/install /usr/bin/sort "     \
	"/usr/bin/split /usr/bin/timeout /usr/bin/xargs /usr/bin/awk /usr/bin/find /usr/bin/less " \
	"/usr/bin/rg /usr/bin/sed /usr/bin/tar /usr/bin/zip "
#define VENDOR "/usr/lib/node_modules/@openai/codex/**/vendor/*/"

/* What each policy lets run that runs what it is given: a name that is new here is meant to be. */
static void test_authority(void **state)
{
	static const struct {
		const char *name, *found;
	} cases[] = {
		{"strict", "/srv/strict/bin/* "},
		{"demo", "/usr/bin/node "},
		{"mcp-filesystem", "/usr/bin/node "},
		{"mcp-github", ""},
		{"codex",
		 GIT SHELL "/usr/bin/bwrap /usr/bin/socat " VENDOR "bin/* " VENDOR "codex/* " VENDOR
			   "codex-path/* " VENDOR "codex-resources/* " VENDOR
			   "path/* /usr/bin/node /usr/bin/python3* /srv/codex/workspace/** "},
		{"claude-code", GIT SHELL "/opt/claude/* /opt/claude/**/vendor/** /usr/bin/node "
					  "/usr/bin/python3* /srv/claude/workspace/** "},
	};

	(void)state;
	if (geteuid())
		skip(); /* links are followed that are root's */
	/* Each policy has a row. */
	assert_int_equal(N_OF(cases), policies);
	for (size_t i = 0; i < N_OF(cases); i++) {
		struct policy *policy = load_unlinked(cases[i].name);
		struct authorities found = {0};
		char text[4096] = "";

		assert_int_equal(authorities_find(policy, &found), 0);
		for (size_t j = 0; j < found.n; j++) {
			strncat(text, found.items[j].path, sizeof(text) - strlen(text) - 1);
			strncat(text, " ", sizeof(text) - strlen(text) - 1);
		}
		if (strcmp(text, cases[i].found) != 0)
			fail_msg("%s: %s", cases[i].name, text);
		authorities_done(&found);
		policy_free(policy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_deny),
		cmocka_unit_test(test_credentials_are_read_denies),
		cmocka_unit_test(test_links_of_users),
		cmocka_unit_test(test_providers),
		cmocka_unit_test(test_clients),
		cmocka_unit_test(test_runtimes),
		cmocka_unit_test(test_authority),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
