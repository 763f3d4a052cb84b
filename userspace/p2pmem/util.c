// SPDX-License-Identifier: GPL-2.0
/*
 * What has no better place: errors, numbers, small files.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "p2pmem.h"

/* One line, and that's all. */
void die(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fputs("p2pmem: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

/* Room for one more element. */
void *more(void *array, size_t count, size_t size)
{
	void *larger = reallocarray(array, count + 1, size);

	if (!larger)
		die("out of memory");
	return larger;
}

/* 4096, 0x1000, 4K, 16M, 1G: bytes */
uint64_t number(const char *text, const char *what)
{
	static const char units[] = "KMGT";
	const char *unit;
	uint64_t value;
	int shift = 0;
	char *end;

	errno = 0;
	/* not 0: a leading zero would make it octal */
	value = strtoull(text, &end, !strncasecmp(text, "0x", 2) ? 16 : 10);
	if (*end && end > text) {
		unit = strchr(units, *end);
		if (unit) {
			shift = 10 * (unit - units + 1);
			end++;
		}
	}
	/* strtoull() would take blanks and a sign */
	if (errno || *text < '0' || *text > '9' || *end || value > UINT64_MAX >> shift)
		die("%s is no %s (bytes, or with K, M, G or T behind it)", text, what);
	return value << shift;
}

/* In the largest unit that divides it. */
const char *size_text(uint64_t bytes, char text[SIZE_TEXT])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	size_t i;

	for (i = 0; bytes && !(bytes % 1024) && i < 4; i++)
		bytes /= 1024;
	snprintf(text, SIZE_TEXT, "%llu %s", (unsigned long long)bytes, units[i]);
	return text;
}

/* A small file without the newline at its end. */
bool read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, size - 1);
	close(fd);
	if (n < 0)
		return false;
	while (n && text[n - 1] == '\n')
		n--;
	text[n] = '\0';
	return true;
}
