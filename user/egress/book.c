// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sorted arrays throughout: who asks chooses the names, and no choice of names makes these slower than the logarithm
 * of their number, which is bounded.
 */
#include "book.h"

#include <errno.h>
#include <string.h>
#include <bulkhead/limits.h>
#include "policy/grow.h"
#include "policy/hash.h"

struct line {
	__u32 address;
	char *name;
};

/* What is listed. */
struct listing {
	struct destination *entries; /* by wildcard, then name */
	size_t n;
	const char **above; /* tails of their names: what stands above them, sorted */
	size_t nabove;
};

struct book {
	__u32 first, last;  /* of the range */
	__u32 next;	    /* where to look for a name's that is written out */
	struct line *lines; /* in the order in which they were given */
	__u32 *by_name;	    /* numbers of lines */
	__u32 *by_address;
	size_t n, size, by_name_size, by_address_size;
	size_t nhashed;
	struct listing listing;
};

int book_new(const struct address_block *range, struct book **ret)
{
	const __u8 *bytes = range->address.bytes;
	struct book *book = calloc(1, sizeof(*book));

	if (!book)
		return -ENOMEM;
	book->first =
		(__u32)bytes[0] << 24 | (__u32)bytes[1] << 16 | (__u32)bytes[2] << 8 | bytes[3];
	book->last = book->first | (__u32)(0xffffffffull >> range->length);
	book->next = book->first;
	*ret = book;
	return 0;
}

static void listing_done(struct listing *listing)
{
	free(listing->entries);
	free(listing->above);
}

void book_free(struct book *book)
{
	size_t i;

	for (i = 0; i < book->n; i++)
		free(book->lines[i].name);
	free(book->lines);
	free(book->by_name);
	free(book->by_address);
	listing_done(&book->listing);
	free(book);
}

/* The first above which is not less than the wanted one, of a sorted array of numbers of lines. */
static size_t place_of_name(const struct book *book, const char *name)
{
	size_t low = 0, high = book->n, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (strcmp(book->lines[book->by_name[middle]].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static size_t place_of_address(const struct book *book, __u32 address)
{
	size_t low = 0, high = book->n, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (book->lines[book->by_address[middle]].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct line *find_name(const struct book *book, const char *name)
{
	size_t at = place_of_name(book, name);
	const struct line *line;

	if (at == book->n)
		return NULL;
	line = &book->lines[book->by_name[at]];
	return strcmp(line->name, name) ? NULL : line;
}

static const struct line *find_address(const struct book *book, __u32 address)
{
	size_t at = place_of_address(book, address);
	const struct line *line;

	if (at == book->n)
		return NULL;
	line = &book->lines[book->by_address[at]];
	return line->address == address ? line : NULL;
}

static void put_number(__u32 *numbers, size_t n, size_t at, __u32 number)
{
	memmove(numbers + at + 1, numbers + at, (n - at) * sizeof(*numbers));
	numbers[at] = number;
}

/* Neither of the two is in the book. */
static int add_line(struct book *book, __u32 address, const char *name)
{
	char *copy;

	if (grow(&book->lines, &book->size, book->n + 1) < 0 ||
	    grow(&book->by_name, &book->by_name_size, book->n + 1) < 0 ||
	    grow(&book->by_address, &book->by_address_size, book->n + 1) < 0)
		return -ENOMEM;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	book->lines[book->n] = (struct line){address, copy};
	put_number(book->by_name, book->n, place_of_name(book, name), (__u32)book->n);
	put_number(book->by_address, book->n, place_of_address(book, address), (__u32)book->n);
	book->n++;
	return 0;
}

__u32 book_proxy(const struct book *book)
{
	return book->last - 1;
}

static bool is_usable(const struct book *book, __u32 address)
{
	return (address & 0xff) != 0 && (address & 0xff) != 0xff && address != book_proxy(book) &&
	       !find_address(book, address);
}

static __u32 half_of(const struct book *book)
{
	return book->first + (book->last - book->first) / 2 + 1;
}

static int give_written(struct book *book, const char *name)
{
	while (book->next < half_of(book) && !is_usable(book, book->next))
		book->next++;
	if (book->next == half_of(book))
		return -ENOSPC;
	return add_line(book, book->next, name);
}

/* From the place that its hash says on, once around. */
static int give_hashed(struct book *book, const char *name)
{
	__u32 half = half_of(book), n = book->last - half + 1, i;
	__u32 start = (__u32)(hash_text(name) % n), address;
	int r;

	if (book->nhashed >= BH_MAX_WILDCARD_NAMES)
		return -ENOSPC;
	for (i = 0; i < n; i++) {
		address = half + (start + i) % n;
		if (!is_usable(book, address))
			continue;
		r = add_line(book, address, name);
		book->nhashed += r == 0;
		return r;
	}
	return -ENOSPC;
}

static int compare_entries(const void *a, const void *b)
{
	const struct destination *left = a, *right = b;

	if (left->wildcard != right->wildcard)
		return left->wildcard - right->wildcard;
	return strcmp(left->name, right->name);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Every tail of a name behind a dot, and of what a wildcard stands for the whole. */
static int add_above(struct listing *listing, size_t *size, const struct destination *entry)
{
	const char *tail = entry->wildcard ? entry->name : strchr(entry->name, '.') + 1;

	for (;; tail++) {
		if (grow(&listing->above, size, listing->nabove + 1) < 0)
			return -ENOMEM;
		listing->above[listing->nabove++] = tail;
		tail = strchr(tail, '.');
		if (!tail)
			return 0;
	}
}

static int make_listing(const struct destination *entries, size_t n, struct listing *ret)
{
	struct listing listing = {.n = n};
	size_t i, size = 0;
	int r = 0;

	listing.entries = calloc(n ? n : 1, sizeof(*entries));
	if (!listing.entries)
		return -ENOMEM;
	if (n)
		memcpy(listing.entries, entries, n * sizeof(*entries));
	qsort(listing.entries, n, sizeof(*entries), compare_entries);
	for (i = 0; i < n && r == 0; i++)
		r = add_above(&listing, &size, &listing.entries[i]);
	if (r < 0) {
		listing_done(&listing);
		return r;
	}
	if (listing.nabove)
		qsort(listing.above, listing.nabove, sizeof(*listing.above), compare_texts);
	*ret = listing;
	return 0;
}

/* Does this entry write out a name that has no address yet? Equal names stand beside each other. */
static bool is_new(const struct book *book, const struct listing *listing, size_t i)
{
	const struct destination *entry = &listing->entries[i];

	if (entry->wildcard || (i && !strcmp(entry[-1].name, entry->name) && !entry[-1].wildcard))
		return false;
	return !find_name(book, entry->name);
}

static int check_room(const struct book *book, const struct listing *listing, struct error *error)
{
	size_t i, wanted = 0, room = 0;
	__u32 address;

	for (i = 0; i < listing->n; i++)
		wanted += is_new(book, listing, i);
	for (address = book->next; address < half_of(book) && room < wanted; address++)
		room += is_usable(book, address);
	if (room == wanted)
		return 0;
	return error_set(
		error, ENOSPC,
		"%zu names need a synthetic address and %zu are left: configure a larger range",
		wanted, room);
}

int book_list(struct book *book, const struct destination *entries, size_t n, struct error *error)
{
	struct listing listing;
	size_t i;
	int r;

	r = make_listing(entries, n, &listing);
	if (r < 0)
		return r;
	r = check_room(book, &listing, error);
	for (i = 0; i < n && r == 0; i++) {
		if (is_new(book, &listing, i))
			r = give_written(book, listing.entries[i].name);
	}
	if (r < 0) {
		listing_done(&listing);
		return r;
	}
	listing_done(&book->listing);
	book->listing = listing;
	return 0;
}

/* The first of the entries with this name and kind; listing->n: none. */
static size_t first_entry(const struct listing *listing, const char *name, bool wildcard)
{
	size_t low = 0, high = listing->n, middle;
	int order;

	while (low < high) {
		middle = low + (high - low) / 2;
		order = listing->entries[middle].wildcard - wildcard;
		if (!order)
			order = strcmp(listing->entries[middle].name, name);
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < listing->n && listing->entries[low].wildcard == wildcard &&
	    !strcmp(listing->entries[low].name, name))
		return low;
	return listing->n;
}

static bool is_listed(const struct listing *listing, const char *name)
{
	const char *dot = strchr(name, '.');

	return first_entry(listing, name, false) < listing->n ||
	       (dot && first_entry(listing, dot + 1, true) < listing->n);
}

int book_find(struct book *book, const char *name, __u32 *ret_address)
{
	const struct line *line;
	int r;

	if (!is_listed(&book->listing, name))
		return -ENOENT;
	if (!ret_address)
		return 0;
	line = find_name(book, name);
	if (!line) {
		r = give_hashed(book, name);
		if (r < 0)
			return r;
		line = &book->lines[book->n - 1];
	}
	*ret_address = line->address;
	return 0;
}

bool book_is_above(const struct book *book, const char *name)
{
	const struct listing *listing = &book->listing;

	return listing->nabove && (!*name || bsearch(&name, listing->above, listing->nabove,
						     sizeof(*listing->above), compare_texts));
}

const char *book_name(const struct book *book, __u32 address)
{
	const struct line *line = find_address(book, address);

	return line ? line->name : NULL;
}

static bool has_port(const struct listing *listing, const char *name, bool wildcard, __u16 port)
{
	size_t i = first_entry(listing, name, wildcard);

	for (; i < listing->n && listing->entries[i].wildcard == wildcard &&
	       !strcmp(listing->entries[i].name, name);
	     i++) {
		if (destination_has_port(&listing->entries[i], port))
			return true;
	}
	return false;
}

bool book_has(const struct book *book, const char *name, __u16 port)
{
	const char *dot = strchr(name, '.');

	return has_port(&book->listing, name, false, port) ||
	       (dot && has_port(&book->listing, dot + 1, true, port));
}

int book_adopt(struct book *book, __u32 address, const char *name)
{
	const struct line *by_name = find_name(book, name),
			  *by_address = find_address(book, address);
	int r;

	if (address < book->first || address > book->last)
		return -ERANGE;
	if (by_name || by_address)
		return by_name == by_address ? 0 : -EEXIST;
	if (address == book_proxy(book))
		return -EEXIST;
	r = add_line(book, address, name);
	book->nhashed += r == 0 && address >= half_of(book);
	return r;
}

size_t book_count(const struct book *book)
{
	return book->n;
}

void book_at(const struct book *book, size_t i, __u32 *ret_address, const char **ret_name)
{
	*ret_address = book->lines[i].address;
	*ret_name = book->lines[i].name;
}
