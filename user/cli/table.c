// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <string.h>
#include "cli.h"

struct table {
	size_t columns, n, size;
	char **cells;
};

struct table *table_new(size_t columns, const char *const *titles)
{
	struct table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->columns = columns;
	table_row(table, titles);
	return table;
}

void table_free(struct table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->n; i++)
		free(table->cells[i]);
	free(table->cells);
	free(table);
}

/* Out of memory: rows are missing from what a person reads, and that is said by table_print. */
void table_row(struct table *table, const char *const *cells)
{
	char **bigger;

	if (table->n + table->columns > table->size) {
		size_t size = table->size * 2 + table->columns * 8;

		bigger = realloc(table->cells, size * sizeof(*bigger));
		if (!bigger)
			return;
		table->cells = bigger;
		table->size = size;
	}
	for (size_t i = 0; i < table->columns; i++)
		table->cells[table->n++] = strdup(cells[i] ?: "");
}

/* Characters, not bytes: names may be in any script. */
static size_t width(const char *text)
{
	size_t n = 0;

	for (; text && *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

static size_t column_width(const struct table *table, size_t column)
{
	size_t most = 0;

	for (size_t i = column; i < table->n; i += table->columns)
		if (width(table->cells[i]) > most)
			most = width(table->cells[i]);
	return most;
}

/* Nothing follows in this row, so nothing needs to be aligned. */
static bool is_rest_empty(const struct table *table, size_t i)
{
	while (++i % table->columns)
		if (table->cells[i] && *table->cells[i])
			return false;
	return true;
}

static bool is_bold(FILE *to)
{
	return isatty(fileno(to)) && !getenv("NO_COLOR");
}

void print_heading(const char *text, FILE *to)
{
	fprintf(to, is_bold(to) ? "\033[1m%s\033[0m\n" : "%s\n", text);
}

void table_print(const struct table *table, FILE *to)
{
	bool bold = is_bold(to);

	for (size_t i = 0; i < table->n; i++) {
		const char *cell = table->cells[i] ?: "?";
		size_t column = i % table->columns;
		bool last = column + 1 == table->columns;
		bool fills = !is_rest_empty(table, i);
		int fill = fills ? (int)(column_width(table, column) - width(cell)) + 2 : 0;

		if (bold && i == 0)
			fputs("\033[1m", to);
		fprintf(to, "%s%*s", cell, fill, "");
		if (last)
			fputs(bold && i + 1 == table->columns ? "\033[0m\n" : "\n", to);
	}
}
