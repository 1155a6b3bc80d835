// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is attached, by the object that is loaded: re-checks, too, which are attached while they are needed. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <string.h>
#include <bulkhead/abi.h>
#include "bulkhead.skel.h"

static bool has_program_on(const struct bulkhead_bpf *skel, const char *hook)
{
	struct bpf_program *prog;
	bool found = false;

	bpf_object__for_each_program(prog, skel->obj)
	{
		const char *slash = strrchr(bpf_program__section_name(prog), '/');

		found |= slash && !strcmp(slash + 1, hook);
	}
	return found;
}

/* stat(2), and each name on the way to any file, cost nobody anything: a program there would be asked more often
 * than all the others together. */
static void test_stat_is_untouched(void **state)
{
	static const char *const hooks[] = {"inode_getattr", "inode_permission",
					    "inode_follow_link"};
	struct bulkhead_bpf *skel = bulkhead_bpf__open();

	(void)state;
	assert_non_null(skel);
	for (size_t i = 0; i < sizeof(hooks) / sizeof(*hooks); i++)
		assert_false(has_program_on(skel, hooks[i]));
	/* That the question finds what is there: a hook of each set. */
	assert_true(has_program_on(skel, "file_open"));
	assert_true(has_program_on(skel, "file_permission"));
	bulkhead_bpf__destroy(skel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stat_is_untouched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
