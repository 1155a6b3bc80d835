// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "names.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define N(array) (sizeof(array) / sizeof((array)[0]))

struct hook_row {
	const char *name;
	int error;
	unsigned int plane;
};

#define ROW(name, text, err, plane) [BH_HOOK_##name] = {text, err, BH_PLANE_##plane},
static const struct hook_row hooks[] = {BH_HOOKS(ROW)};
#undef ROW

struct reason_row {
	const char *name, *text;
};

#define ROW(name, text) [BH_REASON_##name] = {#name, text},
static const struct reason_row reasons[] = {BH_REASONS(ROW)};
#undef ROW

static const char *const planes[] = {
	[BH_PLANE_NONE] = "none",     [BH_PLANE_FILE] = "file", [BH_PLANE_EXEC] = "exec",
	[BH_PLANE_NET] = "net",	      [BH_PLANE_UNIX] = "unix", [BH_PLANE_TASK] = "task",
	[BH_PLANE_KERNEL] = "kernel",
};

static const char *const states[] = {
	[BH_STATE_CLOSED] = "closed",	  [BH_STATE_ARMED] = "armed",
	[BH_STATE_ENFORCED] = "enforced", [BH_STATE_RELEASED] = "released",
	[BH_STATE_TRIPPED] = "tripped",
};

static const char *const modes[] = {[BH_MODE_ENFORCE] = "enforce", [BH_MODE_AUDIT] = "audit"};

/* In the order of linux/capability.h, which never changes. */
static const char *const capabilities[] = {
	"CAP_CHOWN",
	"CAP_DAC_OVERRIDE",
	"CAP_DAC_READ_SEARCH",
	"CAP_FOWNER",
	"CAP_FSETID",
	"CAP_KILL",
	"CAP_SETGID",
	"CAP_SETUID",
	"CAP_SETPCAP",
	"CAP_LINUX_IMMUTABLE",
	"CAP_NET_BIND_SERVICE",
	"CAP_NET_BROADCAST",
	"CAP_NET_ADMIN",
	"CAP_NET_RAW",
	"CAP_IPC_LOCK",
	"CAP_IPC_OWNER",
	"CAP_SYS_MODULE",
	"CAP_SYS_RAWIO",
	"CAP_SYS_CHROOT",
	"CAP_SYS_PTRACE",
	"CAP_SYS_PACCT",
	"CAP_SYS_ADMIN",
	"CAP_SYS_BOOT",
	"CAP_SYS_NICE",
	"CAP_SYS_RESOURCE",
	"CAP_SYS_TIME",
	"CAP_SYS_TTY_CONFIG",
	"CAP_MKNOD",
	"CAP_LEASE",
	"CAP_AUDIT_WRITE",
	"CAP_AUDIT_CONTROL",
	"CAP_SETFCAP",
	"CAP_MAC_OVERRIDE",
	"CAP_MAC_ADMIN",
	"CAP_SYSLOG",
	"CAP_WAKE_ALARM",
	"CAP_BLOCK_SUSPEND",
	"CAP_AUDIT_READ",
	"CAP_PERFMON",
	"CAP_BPF",
	"CAP_CHECKPOINT_RESTORE",
};

struct number_row {
	unsigned int number;
	const char *name;
};

static const struct number_row families[] = {
	{AF_UNIX, "unix"},	 {AF_INET, "inet"},	      {AF_INET6, "inet6"},
	{AF_NETLINK, "netlink"}, {AF_PACKET, "packet"},	      {AF_KEY, "key"},
	{AF_ALG, "alg"},	 {AF_VSOCK, "vsock"},	      {AF_XDP, "xdp"},
	{AF_CAN, "can"},	 {AF_BLUETOOTH, "bluetooth"}, {AF_RDS, "rds"},
	{AF_TIPC, "tipc"},	 {AF_QIPCRTR, "qipcrtr"},
};

static const struct number_row types[] = {
	{SOCK_STREAM, "stream"},       {SOCK_DGRAM, "dgram"}, {SOCK_RAW, "raw"},
	{SOCK_SEQPACKET, "seqpacket"}, {SOCK_RDM, "rdm"},     {SOCK_PACKET, "packet"},
};

static const struct number_row protocols[] = {
	{IPPROTO_ICMP, "icmp"},	    {IPPROTO_TCP, "tcp"},     {IPPROTO_UDP, "udp"},
	{IPPROTO_ICMPV6, "icmpv6"}, {IPPROTO_SCTP, "sctp"},   {IPPROTO_UDPLITE, "udplite"},
	{IPPROTO_RAW, "raw"},	    {IPPROTO_MPTCP, "mptcp"},
};

static const char *number_name(const struct number_row *rows, size_t n, unsigned int number)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].number == number)
			return rows[i].name;
	return NULL;
}

static const char *text_at(const char *const *texts, size_t n, unsigned int index)
{
	return index < n && texts[index] ? texts[index] : "unknown";
}

const char *hook_name(unsigned int hook)
{
	return hook < N(hooks) ? hooks[hook].name : "unknown";
}

int hook_errno(unsigned int hook)
{
	return hook < N(hooks) ? hooks[hook].error : 0;
}

unsigned int hook_plane(unsigned int hook)
{
	return hook < N(hooks) ? hooks[hook].plane : (unsigned int)BH_PLANE_NONE;
}

const char *plane_name(unsigned int plane)
{
	return text_at(planes, N(planes), plane);
}

const char *reason_name(unsigned int reason)
{
	static char names[BH_REASON_COUNT][24];
	const char *from;

	if (reason >= N(reasons))
		return "unknown";
	from = reasons[reason].name;
	for (size_t i = 0; i < sizeof(names[0]) - 1 && from[i]; i++)
		names[reason][i] = from[i] == '_' ? '-' : (char)(from[i] | 0x20);
	return names[reason];
}

const char *reason_text(unsigned int reason)
{
	return reason < N(reasons) ? reasons[reason].text : "unknown";
}

bool reason_is_unsure(unsigned int reason)
{
	return reason >= BH_REASON_UNSURE;
}

const char *errno_name(int error)
{
	const char *name = strerrorname_np(error);

	return name ? name : "unknown";
}

const char *capability_name(unsigned int capability)
{
	return text_at(capabilities, N(capabilities), capability);
}

const char *compartment_state_name(unsigned int state)
{
	return text_at(states, N(states), state);
}

const char *mode_name(unsigned int mode)
{
	return text_at(modes, N(modes), mode);
}

const char *family_name(unsigned int family)
{
	return number_name(families, N(families), family);
}

const char *socket_type_name(unsigned int type)
{
	return number_name(types, N(types), type);
}

const char *protocol_name(unsigned int protocol)
{
	return number_name(protocols, N(protocols), protocol);
}
