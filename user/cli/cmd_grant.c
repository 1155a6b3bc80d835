// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* bulkhead grant and revoke: the second yes, beside the policy's, to what leaves a compartment. */
#include <errno.h>
#include <string.h>
#include "base/duration.h"
#include "cli.h"

static int check_what(const char *command, const struct arguments *arguments, struct error *error)
{
	if (!strcmp(arguments->words[1], "egress"))
		return 0;
	return error_set(error, EINVAL, "%s: \"%s\" is nothing that is granted: write %s %s egress",
			 command, arguments->words[1], command, arguments->words[0]);
}

static int read_span(const struct arguments *arguments, uint64_t *ret_ms, struct error *error)
{
	int r = arguments->span ? duration_parse(arguments->span, ret_ms) : 0;

	if (r == -ERANGE)
		return error_set(error, EINVAL, "--for %s: write 1s to %llud", arguments->span,
				 DURATION_MAX_MS / 1000 / 86400);
	return r ? error_set(error, EINVAL, "--for %s: write " DURATION_FORM, arguments->span) : 0;
}

int check_grant(const struct arguments *arguments, struct error *error)
{
	uint64_t ms;
	int r = check_what("grant", arguments, error);

	return r ? r : read_span(arguments, &ms, error);
}

int check_revoke(const struct arguments *arguments, struct error *error)
{
	return check_what("revoke", arguments, error);
}

static json_t *names_of(const struct arguments *arguments)
{
	json_t *names = arguments->nonly ? json_array() : NULL;

	for (size_t i = 0; i < arguments->nonly; i++)
		json_array_append_new(names, json_string(arguments->only[i]));
	return names;
}

int cmd_grant(const struct arguments *arguments, struct error *error)
{
	_cleanup_json_ json_t *reply = NULL;
	char span[DURATION_TEXT_SIZE] = "";
	uint64_t ms = 0;
	json_t *request;
	int r = read_span(arguments, &ms, error);

	if (r)
		return r;
	request = json_pack("{s:s, s:s, s:s, s:o*}", "request", "grant", "target",
			    arguments->words[0], "what", "egress", "only", names_of(arguments));
	/* A name that is no UTF-8 ends here. */
	if (!request)
		return error_set(error, EINVAL, "a name is not UTF-8, or memory is short");
	if (ms)
		json_object_set_new(request, "for_ms", json_integer((json_int_t)ms));
	r = agent_call(request, &reply, error);
	if (r)
		return r;
	printf("%s: egress is granted%s%s\n", arguments->words[0], ms ? " for " : " until revoked",
	       ms ? duration_format(ms, span) : "");
	return 0;
}

int cmd_revoke(const struct arguments *arguments, struct error *error)
{
	_cleanup_json_ json_t *reply = NULL;
	json_t *request = json_pack("{s:s, s:s, s:s}", "request", "revoke", "target",
				    arguments->words[0], "what", "egress");
	int r = agent_call(request, &reply, error);

	if (r)
		return r;
	printf("%s: egress %s\n", arguments->words[0],
	       json_is_true(json_object_get(reply, "was_granted")) ? "is revoked"
								   : "was not granted");
	return 0;
}
