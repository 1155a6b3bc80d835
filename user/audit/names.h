/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names of what the kernel programs count in numbers, expanded from the one table of hooks.
 * Every function takes any number and answers a constant string: an unknown one is "unknown".
 */
#ifndef AUDIT_NAMES_H
#define AUDIT_NAMES_H

#include <stdbool.h>
#include <bulkhead/abi.h>

const char *hook_name(unsigned int hook);     /* the kernel's, "file_open" */
int hook_errno(unsigned int hook);	      /* positive; 0 for an unknown hook */
unsigned int hook_plane(unsigned int hook);   /* BH_PLANE_* */
const char *plane_name(unsigned int plane);   /* "file" */
const char *reason_name(unsigned int reason); /* "no-rule", for programs */
const char *reason_text(unsigned int reason); /* for people */
bool reason_is_unsure(unsigned int reason);
const char *errno_name(int error);			/* "EACCES" */
const char *capability_name(unsigned int capability);	/* "CAP_SYS_ADMIN" */
const char *compartment_state_name(unsigned int state); /* "enforced" */
const char *mode_name(unsigned int mode);		/* "enforce" */

/* Families, types and protocols of sockets; NULL when only the number tells. */
const char *family_name(unsigned int family);
const char *socket_type_name(unsigned int type);
const char *protocol_name(unsigned int protocol);

#endif
