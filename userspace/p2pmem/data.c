// SPDX-License-Identifier: GPL-2.0
/*
 * p2pmem read, write and flush: bytes at a place.
 *
 * It is memory of a device: some can be accessed by eight bytes at most, and what
 * reads it byte by byte waits for the device eight times as often. So it is copied
 * in words wherever they are whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/p2pmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "json.h"
#include "p2pmem.h"
#include "target.h"

#define CHUNK	1048576	/* bytes of a window on the memory, and of a buffer */

static void donor_left(int signal)
{
	static const char text[] = "p2pmem: the donor has gone\n";

	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(2);
	_exit(1);
}

/* Relaxed atomics: accesses of the size that they say, neither merged nor split. */
static void from_device(void *to, const void *from, size_t n)
{
	const uint8_t *f = from;
	uint8_t *t = to;
	uint64_t word;

	for (; n && (uintptr_t)f % 8; n--)
		*t++ = __atomic_load_n(f++, __ATOMIC_RELAXED);
	for (; n >= 8; n -= 8, f += 8, t += 8) {
		word = __atomic_load_n((const uint64_t *)f, __ATOMIC_RELAXED);
		memcpy(t, &word, 8);
	}
	for (; n; n--)
		*t++ = __atomic_load_n(f++, __ATOMIC_RELAXED);
}

static void to_device(void *to, const void *from, size_t n)
{
	const uint8_t *f = from;
	uint8_t *t = to;
	uint64_t word;

	for (; n && (uintptr_t)t % 8; n--)
		__atomic_store_n(t++, *f++, __ATOMIC_RELAXED);
	for (; n >= 8; n -= 8, f += 8, t += 8) {
		memcpy(&word, f, 8);
		__atomic_store_n((uint64_t *)t, word, __ATOMIC_RELAXED);
	}
	for (; n; n--)
		__atomic_store_n(t++, *f++, __ATOMIC_RELAXED);
}

/* Length bytes at offset of the target, which are within CHUNK of each other. */
static void copy(const struct target *t, uint64_t offset, void *buffer, size_t length,
		 bool out)
{
	size_t page = sysconf(_SC_PAGESIZE), skip = offset % page;
	size_t span = (skip + length + page - 1) / page * page;
	uint8_t *at;

	at = mmap(NULL, span, out ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, t->fd,
		  offset - skip);
	if (at == MAP_FAILED)
		die("%s: %s", t->name, errno == ENODEV ? "the donor has gone" :
		    errno == EDQUOT ? "the limit is reached (limit_file, limit_user)" :
		    strerror(errno));
	if (out)
		to_device(at + skip, buffer, length);
	else
		from_device(buffer, at + skip, length);
	munmap(at, span);
}

static void check_place(const struct target *t, uint64_t offset, uint64_t length)
{
	if (offset > t->size || length > t->size - offset)
		die("%s has %llu bytes, no %llu at %llu", t->name, (unsigned long long)t->size,
		    (unsigned long long)length, (unsigned long long)offset);
}

static void *buffer_new(void)
{
	void *buffer = malloc(CHUNK);

	if (!buffer)
		die("out of memory");
	signal(SIGBUS, donor_left);
	return buffer;
}

/* false: the end of the file */
static bool fill(void *buffer, size_t *length)
{
	ssize_t n;

	for (*length = 0; *length < CHUNK; *length += n) {
		n = read(STDIN_FILENO, buffer + *length, CHUNK - *length);
		if (!n)
			return *length;
		if (n < 0 && errno != EINTR)
			die("standard input: %s", strerror(errno));
		if (n < 0)
			n = 0;
	}
	return true;
}

static void empty(const void *buffer, size_t length)
{
	ssize_t n;

	for (; length; buffer += n, length -= n) {
		n = write(STDOUT_FILENO, buffer, length);
		if (n < 0 && errno != EINTR)
			die("standard output: %s", strerror(errno));
		if (n < 0)
			n = 0;
	}
}

static void flush(const struct target *t, uint64_t offset, uint64_t length)
{
	struct p2pmem_flush f = { .offset = offset, .size = length };

	if (ioctl(t->fd, P2PMEM_IOC_FLUSH, &f))
		die("%s: not flushed: %s", t->name, errno == ENODEV ? "the donor has gone" :
		    errno == EOPNOTSUPP ? "it is volatile, nothing makes its bytes durable" :
		    strerror(errno));
}

int cmd_read(int argc, char **argv, char **rest)
{
	uint64_t offset = number(argv[1], "offset"), length = number(argv[2], "length");
	void *buffer = buffer_new();
	struct target t;
	size_t n;

	target_get(&t, argv[0], O_RDONLY);
	check_place(&t, offset, length);
	for (; length; offset += n, length -= n) {
		n = length < CHUNK ? length : CHUNK;
		copy(&t, offset, buffer, n, false);
		empty(buffer, n);
	}
	return 0;
}

int cmd_write(int argc, char **argv, char **rest)
{
	uint64_t offset = number(argv[1], "offset"), at = offset;
	void *buffer = buffer_new();
	struct target t;
	size_t n;

	target_get(&t, argv[0], O_RDWR);
	check_place(&t, offset, 0);
	while (fill(buffer, &n)) {
		if (n > t.size - at)
			die("%s ends at %llu: the first %llu bytes are written, the rest is not",
			    t.name, (unsigned long long)t.size, (unsigned long long)(at - offset));
		copy(&t, at, buffer, n, true);
		at += n;
	}
	if (t.persistent && at > offset)
		flush(&t, offset, at - offset);
	if (opt.json) {
		json_object(NULL);
		json_number("offset", offset);
		json_number("written", at - offset);
		json_bool("durable", t.persistent);
		json_end();
	}
	return 0;
}

int cmd_flush(int argc, char **argv, char **rest)
{
	uint64_t offset = argc > 1 ? number(argv[1], "offset") : 0;
	uint64_t length = argc > 2 ? number(argv[2], "length") : 0;
	struct target t;

	target_get(&t, argv[0], O_RDWR);
	check_place(&t, offset, length);
	/* nothing is asked of nothing; 0 means the rest to the kernel */
	if (offset < t.size && (length || argc <= 2))
		flush(&t, offset, length);
	if (opt.json) {
		json_object(NULL);
		json_number("offset", offset);
		json_number("flushed", argc > 2 ? length : t.size - offset);
		json_end();
	}
	return 0;
}
