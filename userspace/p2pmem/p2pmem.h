/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tool p2pmem: its commands, and what they have in common. What it knows it
 * has from sysfs and from the ioctls of /dev/p2pmemN; it needs no library.
 */
#ifndef P2PMEM_TOOL_H
#define P2PMEM_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* what the command line says, in whatever order */
struct options {
	bool json;
	bool dmabuf;
	const char *name;
	const char *offset;
	const char *count;
	const char *interval;
};

extern struct options opt;

/* One for each command: its arguments, those after "--", exit status. */
int cmd_list(int argc, char **argv, char **rest);
int cmd_info(int argc, char **argv, char **rest);
int cmd_tree(int argc, char **argv, char **rest);
int cmd_alloc(int argc, char **argv, char **rest);
int cmd_read(int argc, char **argv, char **rest);
int cmd_write(int argc, char **argv, char **rest);
int cmd_flush(int argc, char **argv, char **rest);
int cmd_watch(int argc, char **argv, char **rest);

/* util.c */
#define SIZE_TEXT	32

void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void *more(void *array, size_t count, size_t size);
uint64_t number(const char *text, const char *what);
const char *size_text(uint64_t bytes, char text[SIZE_TEXT]);
bool read_text(const char *path, char *text, size_t size);

#endif /* P2PMEM_TOOL_H */
