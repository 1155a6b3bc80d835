// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What several answers for programs have. */
#include <string.h>
#include "audit/escape.h"
#include "audit/names.h"
#include "cli.h"
#include "policy/policy.h"

json_t *text_json(const char *text)
{
	_cleanup_free_ char *escaped = text ? escape_bytes(text, strlen(text)) : NULL;

	return escaped ? json_string(escaped) : json_null();
}

json_t *policy_json(const struct policy *policy)
{
	char digest[POLICY_DIGEST_SIZE];

	return json_pack("{s:s, s:o, s:s, s:s}", "name", policy->name, "file",
			 text_json(policy->path), "mode", mode_name(policy->mode), "digest",
			 policy_digest_text(policy, digest));
}
