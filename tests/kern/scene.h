/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The programs as people use them, for cases: an agent, a provider in a cgroup of its own, a policy. */
#ifndef KERN_SCENE_H
#define KERN_SCENE_H

#include "harness.h"

#include <limits.h>

/* For a program, the agent among them, on a busy host. */
#define READY_MS 60000

struct scene {
	char policy[PATH_MAX], var[PATH_MAX], probe[PATH_MAX / 2];
	char *cgroup;
	pid_t agent, provider;
	int notify, letters;
};
/* Makes the fixture and the cgroup; `policy` is the name of a file of tests/neg/policies. */
int scene_init(struct scene *s, const char *policy);
void scene_done(struct scene *s);
#define _cleanup_scene_ _cleanup_(scene_done)

/* The scene's policy, as a file of its own; `rule` is a line more among those of files. */
int scene_policy(struct scene *s, const char *rule);
/* A provider that tries FIXTURE_SECRET all the time by a verb of the probe, and says a letter each time. */
int scene_provider(struct scene *s, const char *verb, const char *threads);
/* The status of the command. */
int scene_attach(struct scene *s);
int scene_detach(struct scene *s);

/* Until it is ready. */
int agent_start(struct scene *s);
/* Its status. */
int agent_end(struct scene *s, int signal);

/* Runs a program of the PATH; its standard output into `out`, -1: nowhere (its caller's is full of
 * results). */
pid_t program_start(const char *const argv[], int out);
int program_run(const char *const argv[]);
/* What it printed, and its status. */
int program_print(const char *const argv[], char *text, size_t size);

#endif
