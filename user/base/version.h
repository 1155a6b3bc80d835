/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The version that every program of ours prints. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

#ifndef BULKHEAD_VERSION
#define BULKHEAD_VERSION "0.1"
#endif

#endif
