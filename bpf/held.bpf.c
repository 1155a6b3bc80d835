// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Descriptors that are open already.
 *
 *   file_receive              what comes by SCM_RIGHTS or pidfd_getfd(2): a file by its place, with the
 *                             rights its mode gives; a socket by who made it, or its peer; nameless
 *                             objects by their kind
 *
 * and, attached while a compartment holds what `existing: revoke` took from it:
 *
 *   file_permission           reading, writing, listing
 *   mmap_file file_lock       mapping, locking
 *   socket_recvmsg            receiving; sending is in socket_sendmsg, ioctl in file_ioctl
 *   socket_accept             taking connections
 *   file_free_security        forgets an open file before its address can be used again
 */
#include "held.bpf.h"

/* Outsiders pay this and nothing else; members who use what is not revoked, a look in the map. */
static __always_inline struct bh_revoked *bh_held_by_member(struct file *file)
{
	if (!bpf_get_current_task_btf()->bpf_storage && !bh_ask)
		return NULL;
	return bh_held_entry(file);
}

SEC("lsm/file_permission")
int BPF_PROG(bh_re_use, struct file *file, int mask, int ret)
{
	struct bh_refusal r = BH_REFUSAL(FILE_PERMISSION, BH_REASON_REVOKED);
	struct bh_revoked *held = bh_held_by_member(file);
	struct socket *sock;

	if (!held)
		return ret;
	BH_ENTER(s, FILE_PERMISSION, ret);
	if (!bh_is_revoked(&s, held))
		return 0;
	r.perms = mask & MAY_WRITE ? BH_PERM_WRITE : BH_PERM_READ;
	sock = bpf_sock_from_file(file);
	if (sock)
		return bh_refuse_held_socket(&s, sock, held, &r);
	return bh_judge_held(&s, bh_dentry_of(file), held, &r);
}

SEC("lsm/file_lock")
int BPF_PROG(bh_re_lock, struct file *file, unsigned int cmd, int ret)
{
	struct bh_refusal r = BH_REFUSAL(FILE_LOCK, BH_REASON_REVOKED);
	struct bh_revoked *held = bh_held_by_member(file);

	/* Whoever waits for a lock gets it. */
	if (!held || cmd == F_UNLCK)
		return ret;
	BH_ENTER(s, FILE_LOCK, ret);
	if (!bh_is_revoked(&s, held))
		return 0;
	r.perms = BH_PERM_READ;
	return bh_judge_held(&s, bh_dentry_of(file), held, &r);
}

SEC("lsm/mmap_file")
int BPF_PROG(bh_re_map, struct file *file, unsigned long reqprot, unsigned long prot,
	     unsigned long flags, int ret)
{
	struct bh_refusal r = BH_REFUSAL(MMAP_HELD, BH_REASON_REVOKED);
	struct bh_revoked *held;

	if (!file)
		return ret;
	held = bh_held_by_member(file);
	if (!held)
		return ret;
	BH_ENTER(s, MMAP_HELD, ret);
	if (!bh_is_revoked(&s, held))
		return 0;
	r.perms = BH_PERM_READ;
	return bh_judge_held(&s, bh_dentry_of(file), held, &r);
}

SEC("lsm/socket_recvmsg")
int BPF_PROG(bh_re_receive, struct socket *sock, struct msghdr *msg, int size, int flags, int ret)
{
	struct bh_refusal r = BH_REFUSAL(SOCKET_RECVMSG, BH_REASON_REVOKED);
	struct bh_revoked *held = bh_held_by_member(bh_file_of(sock));

	if (!held)
		return ret;
	BH_ENTER(s, SOCKET_RECVMSG, ret);
	return bh_is_revoked(&s, held) ? bh_refuse_held_socket(&s, sock, held, &r) : 0;
}

SEC("lsm/socket_accept")
int BPF_PROG(bh_re_accept, struct socket *sock, struct socket *newsock, int ret)
{
	struct bh_refusal r = BH_REFUSAL(SOCKET_ACCEPT, BH_REASON_REVOKED);
	struct bh_revoked *held = bh_held_by_member(bh_file_of(sock));

	if (!held)
		return ret;
	BH_ENTER(s, SOCKET_ACCEPT, ret);
	return bh_is_revoked(&s, held) ? bh_refuse_held_socket(&s, sock, held, &r) : 0;
}

/* An address is identity only while its file lives. */
SEC("lsm/file_free_security")
void BPF_PROG(bh_re_free, struct file *file)
{
	__u64 address = (__u64)file;

	if (bpf_map_lookup_elem(&bh_revoked, &address))
		bpf_map_delete_elem(&bh_revoked, &address);
}

/* --- received --- */

/* A peer that the file's own socket holds; it is asked for its name alone, as nothing holds it for us
 * while somebody connects the socket elsewhere. */
static __always_inline long bh_judge_peer(const struct bh_subject *s, struct sock *other,
					  struct bh_refusal *r)
{
	struct unix_sock *peer = bpf_skc_to_unix_sock(other);
	struct bh_slot *slot = NULL;
	long ret;

	r->perms = BH_PERM_CONNECT;
	if (peer && peer->path.dentry)
		slot = bh_look(s, peer->path.dentry);
	else if (peer && peer->addr)
		slot = bh_look_abstract(s, peer->addr);
	else if (peer)
		return 0; /* one end of a pair, or of a connection that the other side made */
	ret = bh_judge_place(s, r, slot);
	bh_slot_release(slot);
	return ret;
}

static __noinline long bh_judge_received_socket(const struct bh_subject *s, struct socket *sock)
{
	struct bh_refusal r = BH_REFUSAL(FILE_RECEIVE, BH_REASON_NO_RULE);
	struct sock *sk = sock->sk, *other;
	struct unix_sock *own;

	/* What a member made was judged when it was made, and when it connected. */
	if (sk && bh_maker_of(s, sk))
		return 0;
	own = sk ? bpf_skc_to_unix_sock(sk) : NULL;
	if (own) {
		other = own->peer;
		/* Not connected: what it does next, hooks see. */
		return other ? bh_judge_peer(s, other, &r) : 0;
	}
	r.reason = BH_REASON_NETWORK;
	r.kind = BH_OBJECT_SOCKET;
	r.object[0] = bh_socket_family(sock);
	r.object[1] = sock->type;
	return bh_refuse(s, &r, NULL);
}

/* As an inventory judges them (user/compart/inventory_fd.c). */
static __always_inline bool bh_anonymous_is_free(const char text[16])
{
	return !bpf_strncmp(text, 16, "[eventpoll]") || !bpf_strncmp(text, 16, "[eventfd]") ||
	       !bpf_strncmp(text, 16, "[timerfd]") || !bpf_strncmp(text, 16, "[signalfd]") ||
	       !bpf_strncmp(text, 16, "inotify") || !bpf_strncmp(text, 16, "[inotify]") ||
	       !bpf_strncmp(text, 16, "[landlock-rules") || !bpf_strncmp(text, 16, "[pidfd]");
}

/* Of the kernel's own filesystems, where nothing has a name: memory and pipes; pidfds, for each use of
 * which the task they stand for is judged. */
static __always_inline bool bh_nameless_is_free(__u64 magic)
{
	return magic == PIPEFS_MAGIC || magic == TMPFS_MAGIC || magic == HUGETLBFS_MAGIC ||
	       magic == SECRETMEM_MAGIC || magic == PID_FS_MAGIC;
}

static __noinline long bh_judge_received_nameless(const struct bh_subject *s, struct file *file)
{
	struct bh_refusal r = BH_REFUSAL(FILE_RECEIVE, BH_REASON_CLOSED);
	struct dentry *dentry = bh_dentry_of(file);
	__u64 magic = dentry->d_sb->s_magic;
	const void *name = dentry->d_name.name;
	char *text = (char *)r.small;

	if (bh_nameless_is_free(magic))
		return 0;
	if (magic != ANON_INODE_FS_MAGIC)
		name = dentry->d_sb->s_type->name;
	bpf_probe_read_kernel_str(text, sizeof(r.small), name);
	if (magic == ANON_INODE_FS_MAGIC && bh_anonymous_is_free(text))
		return 0;
	return bh_refuse_name(s, &r);
}

/* Message queues stand in a filesystem of the kernel's own that can be mounted, and have names. */
static __always_inline bool bh_is_nameless(struct dentry *dentry)
{
	return dentry->d_sb->s_flags & SB_KERNMOUNT && dentry->d_sb->s_magic != MQUEUE_MAGIC;
}

SEC("lsm/file_receive")
int BPF_PROG(bh_file_receive, struct file *file, int ret)
{
	struct bh_refusal r = BH_REFUSAL(FILE_RECEIVE, BH_REASON_NO_RULE);
	struct socket *sock;

	BH_ENTER(s, FILE_RECEIVE, ret);
	/* Grants nothing: what is opened through it is judged then. */
	if (BH_READONLY(struct file, file)->f_mode & FMODE_PATH)
		return 0;
	sock = bpf_sock_from_file(file);
	if (sock)
		return bh_judge_received_socket(&s, sock);
	if (bh_is_nameless(bh_dentry_of(file)))
		return bh_judge_received_nameless(&s, file);
	r.perms = bh_open_perms(file) & ~BH_PERM_CREATE;
	return bh_judge_held(&s, bh_dentry_of(file), bh_held_entry(file), &r);
}
