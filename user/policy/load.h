/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the parts of policy_load share. Internal to the policy layer. */
#ifndef POLICY_LOAD_H
#define POLICY_LOAD_H

#include <sodium.h>
#include "policy.h"
#include "resolve.h"
#include "source.h"
#include "text.h"
#include "vars.h"

/* A symbolic link that a rule's glob led through. */
struct met_link {
	char *path;
	struct place place; /* of the rule */
};

/* A file that was read, so that it is read once. */
struct read_file {
	dev_t dev;
	ino_t ino;
	bool open; /* its includes are being read: to meet it again is a cycle */
};

struct loader {
	const struct policy_options *options;
	struct error *error;
	struct policy *policy; /* under construction */
	size_t rules_size, files_size, written_size;
	/* rules[i].glob before links were followed: two names of one place are no mistake. */
	char **written;
	size_t nwritten;
	size_t nbranches; /* of all rules */
	struct vars vars;
	struct resolver resolver;
	struct met_link *links; /* of rules, of which `reading` is the present one; tests: NULL */
	size_t nlinks, links_size;
	const struct place *reading;
	bool links_lost; /* for want of memory */
	struct read_file read[BH_MAX_INCLUDES];
	size_t nread;
	unsigned int depth;
	crypto_hash_sha256_state digest;
};

/* One file on its way into the policy. */
struct unit {
	const char *path; /* the policy's string */
	struct source source;
	struct outline outline;
	struct text *text;
	size_t first_rule; /* its own rules go from here to the policy's last */
};

/* A word of a table, and its value. */
struct choice {
	const char *word;
	int value;
	const char *refusal; /* a word known but not good: why */
};

/* All of these: 0, -EINVAL with file:line:column in the error, -ENOMEM. */

/* settings.c: what is not a rule. */
int settings_check_version(struct loader *loader, const struct unit *unit);
int settings_check_include(struct loader *loader, const struct unit *unit);
int settings_take(struct loader *loader, const struct unit *unit);
/* *ret: the value of `word`, looked up in a table that ends with a NULL word. */
int settings_choose(struct loader *loader, const struct place *place, const char *what,
		    const char *word, const struct choice *table, int *ret);

extern const struct choice settings_truth[];
/* The values of hardlinks: as a truth value, older ones allowed. */
extern const struct choice settings_hardlinks[];

/* limits.c: what a command that is started may use. */
int limits_take(struct loader *loader, const struct unit *unit);

/* environment.c: what a command that is started finds in it. After the variables are known. */
int environment_take(struct loader *loader, const struct unit *unit);
void environment_free(struct policy_environment *environment);

/* network.c: what may be reached, whether by a proxy, too, and where members listen. */
int network_take(struct loader *loader, const struct unit *unit);

/* rules.c: files, exec and unix. */
int rules_take(struct loader *loader, const struct unit *unit);
/* Variables, form and links of one glob: *ret_glob and, if wanted, *ret_written (malloc'ed). */
int rules_read_glob(struct loader *loader, const struct place *place, const char *text,
		    char **ret_glob, char **ret_written);

/* verify.c: rules that say nothing, and the file's tests. */
int verify_rules(struct loader *loader, const struct unit *unit);
int verify_tests(struct loader *loader, const struct unit *unit);

/* symlinks.c: symbolic links that the policy lets members make, in a whole policy. */
void links_note(const char *link, const char *target, void *data); /* of the loader */
int verify_links(struct loader *loader);

/* written.c: rules that let run what all may have been written inside, in a whole policy. */
int verify_written(struct loader *loader);

#endif
