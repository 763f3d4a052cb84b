// SPDX-License-Identifier: GPL-2.0
/*
 * The parameter 'bars', read strictly: what isn't understood to the last
 * character is refused, since a wrong place means somebody's registers.
 *
 *	bars	= entry { "," entry }		(or nothing)
 *	entry	= [domain ":"] bus ":" device "." function ":" bar
 *		  ["@" offset ["+" length]] [":persistent"]
 *
 * Numbers of a PCI address are hexadecimal, as everywhere. offset and length
 * are in bytes, decimal or 0x..., with K, M or G for 2^10, 2^20 or 2^30 of them.
 */
#include <linux/ctype.h>
#include <linux/hex.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/overflow.h>
#include <linux/pci.h>
#include <linux/string.h>

#include "bar_list.h"

static bool take(const char **s, char c)
{
	if (**s != c)
		return false;
	++*s;
	return true;
}

static bool take_hex(const char **s, u64 max, u64 *value)
{
	const char *start = *s;
	int digit;

	for (*value = 0; (digit = hex_to_bin(**s)) >= 0; ++*s) {
		*value = *value << 4 | digit;
		if (*value > max)
			return false;
	}
	return *s != start;
}

static bool take_digits(const char **s, unsigned int base, u64 *value)
{
	const char *start = *s;
	int digit;

	for (*value = 0; (digit = hex_to_bin(**s)) >= 0 && digit < base; ++*s)
		if (check_mul_overflow(*value, (u64)base, value) ||
		    check_add_overflow(*value, (u64)digit, value))
			return false;
	return *s != start;
}

static bool take_bytes(const char **s, u64 *bytes)
{
	static const char units[] = "KMG";
	const char *unit;
	bool good;

	if (!strncasecmp(*s, "0x", 2)) {
		*s += 2;
		good = take_digits(s, 16, bytes);
	} else {
		good = take_digits(s, 10, bytes);
	}
	if (!good)
		return false;

	unit = **s ? strchr(units, toupper(**s)) : NULL;
	if (!unit)
		return true;
	++*s;
	return !check_mul_overflow(*bytes, 1ULL << (10 * (unit - units + 1)), bytes);
}

/* the first number is a domain or a bus: the third separator tells */
static bool take_address(const char **s, struct bar_entry *e)
{
	u64 number[3] = { }, function;
	int n = 0;

	do {
		if (n == 3 || !take_hex(s, INT_MAX, &number[n++]))
			return false;
	} while (take(s, ':'));
	if (n == 2) {
		number[2] = number[1];
		number[1] = number[0];
		number[0] = 0;
	}
	if (n < 2 || number[1] > 0xff || number[2] > 0x1f ||
	    !take(s, '.') || !take_hex(s, 7, &function))
		return false;

	e->domain = number[0];
	e->bus = number[1];
	e->devfn = PCI_DEVFN(number[2], function);
	return true;
}

static const char *parse_entry(const char **s, struct bar_entry *e)
{
	static const char word[] = "persistent";
	u64 bar, end;

	*e = (struct bar_entry) { };
	if (!take_address(s, e))
		return "no PCI address such as 0000:04:00.0";
	if (!take(s, ':') || !take_hex(s, PCI_STD_NUM_BARS - 1, &bar))
		return "no ':' and number of a BAR, 0 to 5, behind the PCI address";
	e->bar = bar;

	if (take(s, '@')) {
		if (!take_bytes(s, &e->offset))
			return "the offset behind '@' is no number of bytes such as 0x200000 or 2M";
		if (take(s, '+') && (!take_bytes(s, &e->length) || !e->length))
			return "the length behind '+' is no number of bytes such as 0x200000 or 2M";
		if (check_add_overflow(e->offset, e->length, &end))
			return "offset and length are beyond 64 bits";
	}
	if (take(s, ':')) {
		if (strncmp(*s, word, strlen(word)))
			return "the only word that may follow is 'persistent'";
		*s += strlen(word);
		e->persistent = true;
	}
	if (**s && **s != ',')
		return "not BDF:BAR[@OFFSET[+LENGTH]][:persistent], or no ',' behind it";
	return NULL;
}

static u64 last(const struct bar_entry *e)
{
	return e->length ? e->offset + e->length - 1 : U64_MAX;
}

static bool overlap(const struct bar_entry *a, const struct bar_entry *b)
{
	return a->domain == b->domain && a->bus == b->bus && a->devfn == b->devfn &&
	       a->bar == b->bar && a->offset <= last(b) && b->offset <= last(a);
}

static const char *add_entry(const char **s, struct bar_list *list)
{
	struct bar_entry e;
	const char *what = parse_entry(s, &e);
	unsigned int i;

	if (what)
		return what;
	if (list->n == BAR_LIST_MAX)
		return "more than 32 entries";
	for (i = 0; i < list->n; i++)
		if (overlap(&e, &list->entry[i]))
			return "has bytes in common with an earlier entry";
	list->entry[list->n++] = e;
	return NULL;
}

/**
 * p2pmem_bar_list_parse() - understand a text
 * @text: see above, without a newline
 * @list: what it says
 * @mistake: filled in where it is wrong
 *
 * Return: 0 or -EINVAL, after which @list is of no use.
 */
int p2pmem_bar_list_parse(const char *text, struct bar_list *list, struct bar_mistake *mistake)
{
	const char *s = text, *start, *what;

	list->n = 0;
	if (!*s)
		return 0;
	do {
		start = s;
		what = add_entry(&s, list);
		if (what) {
			*mistake = (struct bar_mistake) {
				.what = what,
				.entry = start,
				.len = strchrnul(start, ',') - start,
			};
			return -EINVAL;
		}
	} while (take(&s, ','));
	return 0;
}

/**
 * p2pmem_bar_list_print() - a list as text, which gives the same list
 * @list: the list
 * @buf: where to
 * @size: how much there is room for
 *
 * Return: the number of characters.
 */
int p2pmem_bar_list_print(const struct bar_list *list, char *buf, size_t size)
{
	unsigned int i;
	int at = 0;

	*buf = 0;
	for (i = 0; i < list->n; i++) {
		const struct bar_entry *e = &list->entry[i];

		at += scnprintf(buf + at, size - at, "%s%04x:%02x:%02x.%u:%u", i ? "," : "",
				e->domain, e->bus, PCI_SLOT(e->devfn), PCI_FUNC(e->devfn), e->bar);
		if (e->offset || e->length)
			at += scnprintf(buf + at, size - at, "@%#llx", e->offset);
		if (e->length)
			at += scnprintf(buf + at, size - at, "+%#llx", e->length);
		if (e->persistent)
			at += scnprintf(buf + at, size - at, ":persistent");
	}
	return at;
}
