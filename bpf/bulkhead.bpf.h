/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What every kernel-side file includes first. */
#ifndef BULKHEAD_BPF_H
#define BULKHEAD_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include <bulkhead/abi.h>

/* Macros of kernel headers that BTF does not carry, with their uapi or source file. */
#define AF_UNSPEC 0 /* linux/socket.h */
#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define AF_NETLINK 16
#define SOCK_STREAM_TYPE 1 /* linux/net.h: SOCK_STREAM, SOCK_DGRAM */
#define SOCK_DGRAM_TYPE 2
#define SOL_SOCKET 1 /* asm-generic/socket.h */
#define SO_REUSEADDR 2
#define SO_REUSEPORT 15
#define IP_OPTIONS 4 /* linux/in.h */
#define IP_ADD_MEMBERSHIP 35
#define IP_ADD_SOURCE_MEMBERSHIP 39
#define IP_MSFILTER 41
#define MCAST_JOIN_GROUP 42
#define MCAST_JOIN_SOURCE_GROUP 46
#define MCAST_MSFILTER 48
#define IPV6_ADD_MEMBERSHIP 20 /* linux/in6.h */
#define IPV6_JOIN_ANYCAST 27
#define IPV6_RTHDR 57
#define NETLINK_ROUTE 0		/* linux/netlink.h */
#define MSG_FASTOPEN 0x20000000 /* linux/socket.h */
#define PROT_READ 0x1		/* asm-generic/mman-common.h */
#define PROT_WRITE 0x2
#define PROT_EXEC 0x4
#define MAP_SHARED 0x01 /* linux/mman.h */
#define FMODE_READ 0x1	/* linux/fs.h */
#define FMODE_WRITE 0x2
#define FMODE_EXEC_FLAG 0x20 /* __FMODE_EXEC in f_flags */
#define O_APPEND 02000	     /* asm-generic/fcntl.h */
#define O_TRUNC 01000
#define O_TMPFILE_FLAG 020000000 /* __O_TMPFILE */
#define F_UNLCK 2		 /* asm-generic/fcntl.h */
#define F_SETFL 4
#define F_SETOWN 8
#define F_SETOWN_EX 15
#define FIOSETOWN 0x8901 /* asm-generic/sockios.h */
#define SIOCSPGRP 0x8902
#define TCGETS 0x5401 /* asm-generic/ioctls.h */
#define TCGETS2 0x802c542a
#define TIOCGPGRP 0x540f
#define TIOCGSID 0x5429
#define TIOCGWINSZ 0x5413
#define TIOCOUTQ 0x5411
#define FIONREAD 0x541b
#define FIONBIO 0x5421
#define FIONCLEX 0x5450
#define FIOCLEX 0x5451
#define FIOASYNC 0x5452
#define FIGETBSZ 0x2 /* linux/fs.h */
#define FICLONE 0x40049409
#define FICLONERANGE 0x4020940d
#define FIDEDUPERANGE 0xc0189436
#define FS_IOC_FIEMAP 0xc020660b
#define FS_IOC_GETFLAGS 0x80086601
#define FS_IOC_FSGETXATTR 0x801c581f
/* Type and number; the size differs for 32-bit programs. */
#define FS_SETVERSION 0x7602	 /* linux/fs.h */
#define EXT4_SETVERSION 0x6604	 /* linux/ext4.h */
#define BTRFS_SNAP_CREATE 0x9401 /* linux/btrfs.h */
#define BTRFS_SUBVOL_CREATE 0x940e
#define BTRFS_SNAP_DESTROY 0x940f
#define BTRFS_SNAP_CREATE_V2 0x9417
#define BTRFS_SUBVOL_CREATE_V2 0x9418
#define BTRFS_SNAP_DESTROY_V2 0x943f
#define TIOCSTI 0x5412 /* asm-generic/ioctls.h */
#define TIOCLINUX 0x541c
#define VM_READ 0x1 /* linux/mm.h */
#define VM_WRITE 0x2
#define VM_SHARED 0x8
#define SB_KERNMOUNT (1 << 22)	/* linux/fs.h */
#define DCACHE_OP_HASH (1 << 0) /* linux/dcache.h */
#define DCACHE_OP_COMPARE (1 << 1)
#define DCACHE_OP_REVALIDATE (1 << 2)
#define DCACHE_DISCONNECTED (1 << 5)
#define DCACHE_CANT_MOUNT (1 << 8)
#define RWSEM_WRITER_LOCKED (1 << 0) /* kernel/locking/rwsem.c */
#define FS_REQUIRES_DEV 1	     /* linux/fs.h */
#define S_IFMT 00170000		     /* linux/stat.h */
#define S_IFDIR 0040000
#define S_IFREG 0100000
#define S_IFCHR 0020000
#define MINORBITS 20 /* linux/kdev_t.h */
#define TTY_MAJOR 4  /* linux/major.h */
#define TTYAUX_MAJOR 5
#define UNIX98_PTY_SLAVE_MAJOR 136
#define UNIX98_PTY_MAJORS 8
#define ATTR_SIZE (1 << 3) /* linux/fs.h */
#define ATTR_FORCE (1 << 9)
#define RENAME_EXCHANGE 0x2
#define RENAME_WHITEOUT 0x4
#define CLONE_INTO_CGROUP_FLAG 0x200000000ULL /* linux/sched.h */
#define SIGKILL 9			      /* asm-generic/signal.h */
#define PF_IO_WORKER 0x10		      /* linux/sched.h */
#define PF_FORKNOEXEC 0x40		      /* linux/sched.h */
#define PF_DUMPCORE 0x200		      /* linux/sched.h */
#define TS_COMPAT 0x2			      /* asm/thread_info.h */
#define PTRACE_MODE_NOAUDIT 0x04	      /* linux/ptrace.h */
#define CAP_OPT_NOAUDIT 0x2		      /* linux/security.h */
#define CAP_DAC_READ_SEARCH 2		      /* linux/capability.h */
#define CAP_SETGID 6
#define CAP_SETUID 7
#define CAP_SETPCAP 8
#define CAP_NET_ADMIN 12
#define CAP_SYS_CHROOT 18
#define CAP_SYS_PTRACE 19
#define CAP_SYS_ADMIN 21
#define MS_REMOUNT 32 /* linux/mount.h */
#define MS_BIND 4096
#define MS_MOVE 8192
#define MS_UNBINDABLE (1 << 17)
#define MS_PRIVATE (1 << 18)
#define MS_SLAVE (1 << 19)
#define MS_SHARED (1 << 20)
#define MAY_WRITE 0x2 /* linux/fs.h */
#define FMODE_PATH 0x4000
#define FMODE_NOACCOUNT (1 << 29)
#define PIPEFS_MAGIC 0x50495045 /* linux/magic.h */
#define HUGETLBFS_MAGIC 0x958458f6
#define SECRETMEM_MAGIC 0x5345434d
#define PID_FS_MAGIC 0x50494446
#define ANON_INODE_FS_MAGIC 0x09041934
#define TMPFS_MAGIC 0x01021994
#define DEVPTS_MAGIC 0x1cd1
#define PROC_MAGIC 0x9fa0
#define OVERLAYFS_MAGIC 0x794c7630
#define MQUEUE_MAGIC 0x19800202 /* ipc/mqueue.c */

/* A compile-time barrier that makes the verifier see `x` bounded by a mask after it: without it
 * clang proves the mask useless, drops it, and 6.1 then rejects the access. */
#define BH_BOUND(x, mask)                                            \
	({                                                           \
		__u64 bound_ = (x);                                  \
		asm volatile("%0 &= %1" : "+r"(bound_) : "i"(mask)); \
		bound_;                                              \
	})

/* One move instruction, where the kernel has it (6.2). */
extern void *bpf_rdonly_cast(const void *object, __u32 type) __ksym __weak;

/* The same pointer, which the verifier then trusts no more: what it costs to read a pointer through one
 * that it trusts is in HACKING. Kernels before 6.2 trust none. */
#define BH_READONLY(type, object)                                                         \
	((type *)(bpf_core_enum_value_exists(enum special_kfunc_type, KF_bpf_rdonly_cast) \
			  ? bpf_rdonly_cast(object, bpf_core_type_id_kernel(type))        \
			  : (void *)(object)))

#endif
