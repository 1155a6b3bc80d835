/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Internal to the policy layer; glob_check and glob_match are in automaton.h. */
#ifndef POLICY_GLOB_H
#define POLICY_GLOB_H

#include "automaton.h"

/* 1 if everything `narrow` matches is matched by `wide`; 0 may also mean "not seen to be so". */
int glob_covers(const char *wide, const char *narrow);

#endif
