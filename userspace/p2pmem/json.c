// SPDX-License-Identifier: GPL-2.0
/*
 * JSON on standard output: one value, one line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "p2pmem.h"

#define DEPTH	300	/* 256 buses, and what is around them */

static char closing[DEPTH];
static bool begun[DEPTH + 1];
static int depth;

static void text(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		unsigned char c = *s;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20 || c > 0x7e)
			printf("\\u%04x", c);	/* as Latin-1: valid whatever it is */
		else
			putchar(c);
	}
	putchar('"');
}

static void before(const char *name)
{
	if (begun[depth])
		fputs(", ", stdout);
	begun[depth] = true;
	if (name) {
		text(name);
		fputs(": ", stdout);
	}
}

static void enter(const char *name, char opening, char end)
{
	before(name);
	if (depth == DEPTH)
		die("the tree is too deep");
	putchar(opening);
	closing[depth++] = end;
	begun[depth] = false;
}

void json_object(const char *name)
{
	enter(name, '{', '}');
}

void json_array(const char *name)
{
	enter(name, '[', ']');
}

/* The outermost ends a line, so that a program can read one after the other. */
void json_end(void)
{
	putchar(closing[--depth]);
	if (depth)
		return;
	begun[0] = false;
	putchar('\n');
	fflush(stdout);
}

void json_string(const char *name, const char *value)
{
	before(name);
	if (value)
		text(value);
	else
		fputs("null", stdout);
}

void json_number(const char *name, uint64_t value)
{
	before(name);
	printf("%llu", (unsigned long long)value);
}

void json_signed(const char *name, int64_t value)
{
	before(name);
	printf("%lld", (long long)value);
}

void json_bool(const char *name, bool value)
{
	before(name);
	fputs(value ? "true" : "false", stdout);
}

/* A number if it is one, without guessing at bases or signs. */
void json_attribute(const char *name, const char *value)
{
	size_t digits = strspn(value, "0123456789");

	if (digits && !value[digits] && (*value != '0' || digits == 1) && digits < 20)
		json_number(name, strtoull(value, NULL, 10));
	else
		json_string(name, value);
}
