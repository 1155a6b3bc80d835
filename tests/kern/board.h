/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A page that the harness shares with the processes it looks at: when to go on, and what they saw. */
#ifndef TESTS_BOARD_H
#define TESTS_BOARD_H

struct board {
	volatile int go, done;
	volatile int results[16];
};

/* NULL: no memory. The caller's, to be unmapped. */
struct board *board_new(void);
void board_free(struct board *board);

/* Waits for *word to become at least `value`, no longer than the harness's deadline. 0 or
 * -ETIMEDOUT. */
int board_await(volatile int *word, int value);

#endif
