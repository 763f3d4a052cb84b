// SPDX-License-Identifier: GPL-2.0
/*
 * p2pmem alloc: have memory for as long as a command runs, or until a signal.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/p2pmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "donor.h"
#include "json.h"
#include "p2pmem.h"
#include "target.h"

static const char *why(int error)
{
	switch (error) {
	case EDQUOT:
		return "the limit of a file or of a user is reached (limit_file, limit_user)";
	case ENOMEM:
		return "no such piece is free";
	case ENODEV:
		return "the donor has gone";
	case ENOTTY:
		return "the module p2pmem is older than this program";
	}
	return strerror(error);
}

static int allocate(const struct donor *d, struct p2pmem_alloc *a)
{
	int fd = donor_open(d->name, O_RDWR);
	char size[SIZE_TEXT];

	if (ioctl(fd, P2PMEM_IOC_ALLOC, a))
		die("%s: %s refused: %s", d->name, size_text(a->size, size), why(errno));
	close(fd);
	return a->fd;
}

static int as_dmabuf(int region)
{
	struct p2pmem_export e = {};

	if (ioctl(region, P2PMEM_IOC_EXPORT, &e))
		die("no dma-buf: %s", why(errno));
	close(region);
	return e.fd;
}

static void report(const struct donor *d, const struct p2pmem_alloc *a)
{
	char size[SIZE_TEXT];

	if (!opt.json) {
		printf("%s: %s at %#llx, until it is interrupted\n", d->name,
		       size_text(a->size, size), (unsigned long long)a->place);
		fflush(stdout);
		return;
	}
	json_object(NULL);
	json_string("device", d->name);
	json_number("size", a->size);
	json_number("place", a->place);
	json_string("name", a->name);
	json_end();
}

/* As a shell does: what the terminal sends is the command's. */
static int run(char **command)
{
	pid_t pid;
	int status;

	pid = fork();
	if (pid < 0)
		die("%s", strerror(errno));
	if (!pid) {
		execvp(command[0], command);
		fprintf(stderr, "p2pmem: %s: %s\n", command[0], strerror(errno));
		_exit(errno == ENOENT ? 127 : 126);
	}
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			die("%s", strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int wait_for_signal(void)
{
	sigset_t set;
	int number;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigwait(&set, &number);
	return 0;
}

static void block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static void choose_place(struct p2pmem_alloc *a, const struct donor *d, uint64_t page)
{
	if (!d->persistent)
		die("%s is volatile: where memory is taken from it can't be chosen", d->name);
	a->offset = number(opt.offset, "offset");
	if (a->offset % page || a->offset >= d->size || a->size > d->size - a->offset)
		die("%s has no %llu bytes at %s (in steps of %llu)", d->name,
		    (unsigned long long)a->size, opt.offset, (unsigned long long)page);
}

static void choose_name(struct p2pmem_alloc *a)
{
	if (strlen(opt.name) >= sizeof(a->name))
		die("a name has %zu characters at most", sizeof(a->name) - 1);
	memcpy(a->name, opt.name, strlen(opt.name));
}

int cmd_alloc(int argc, char **argv, char **rest)
{
	uint64_t page = sysconf(_SC_PAGESIZE), size = number(argv[1], "size");
	struct p2pmem_alloc a = {};
	struct donor d;
	char text[16];
	int fd;

	donor_get(&d, argv[0]);
	if (!size || size > UINT64_MAX - page)
		die("%s is no size of an allocation", argv[1]);
	a.size = (size + page - 1) / page * page;
	if (opt.offset)
		choose_place(&a, &d, page);
	if (opt.name)
		choose_name(&a);
	if (!*rest)
		block_signals();

	/* without P2PMEM_FD_CLOEXEC: the command gets it */
	fd = allocate(&d, &a);
	if (opt.dmabuf)
		fd = as_dmabuf(fd);
	if (!*rest || opt.json)
		report(&d, &a);
	if (!*rest)
		return wait_for_signal();
	snprintf(text, sizeof(text), "%d", fd);
	setenv(TARGET_FD, text, 1);
	return run(rest);
}
