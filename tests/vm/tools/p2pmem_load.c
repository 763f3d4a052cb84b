// SPDX-License-Identifier: GPL-2.0
/*
 * A program whose memory is a donor's, and that is at work in it when the donor
 * goes. It lives across many donors: a line on stdin is a command, a line on
 * stdout its answer, which a test compares.
 *
 *   p2pmem_load map              threads and a child touch it
 *   p2pmem_load io DISK [DISK]   threads read and write drives from there (O_DIRECT)
 *
 *   go PATH      open and map it; "at work" when everybody has got through
 *   go PID:FD    the same with an open file of another process
 *   end          the donor has gone: what became of whom, and of a new mmap()
 *   again        it has come back: what the old memory and the old file are good
 *                for; then everything is let go
 */
#define _GNU_SOURCE	/* strerrorname_np(), O_DIRECT */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE	4096
#define PIECE	(64 * PAGE)	/* a worker's own */
#define WORKERS	4
#define REST	100		/* microseconds: many share the CPUs with who unplugs */
#define WARM	3		/* rounds of a worker before it counts as one at work */

struct worker {
	pthread_t thread;
	uint8_t *piece;
	int disk, number;
	bool writes;
	const char *end;
};

static struct worker workers[WORKERS];
static int nworkers, memory = -1;
static uint8_t *area;
static pid_t child;
static bool io;
static sem_t at_work;
static __thread sigjmp_buf out;

static void die(const char *what)
{
	printf("failed: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void on_sigbus(int sig, siginfo_t *info, void *unused)
{
	uint8_t *at = info->si_addr;

	(void)sig;
	(void)unused;
	if (info->si_code != BUS_ADRERR || at < area || at >= area + nworkers * PIECE)
		_exit(99);
	siglongjmp(out, 1);
}

static void put(uint8_t *at, uint8_t byte)
{
	__atomic_store_n(at, byte, __ATOMIC_RELAXED);
}

static uint8_t get(const uint8_t *at)
{
	return __atomic_load_n(at, __ATOMIC_RELAXED);
}

/* Every page of the piece: a byte of one's own, then the same byte again. */
static void touch(struct worker *w, uint8_t byte)
{
	size_t i;

	for (i = 0; i < PIECE; i += PAGE)
		put(w->piece + i, byte);
	/* comes back by a fault */
	if (w->number & 1)
		madvise(w->piece, PIECE / 2, MADV_DONTNEED);
	for (i = 0; i < PIECE; i += PAGE)
		if (get(w->piece + i) != byte)
			_exit(98);
}

static const char *touch_for_ever(struct worker *w)
{
	unsigned int n = 0;

	if (sigsetjmp(out, 1))
		return "SIGBUS";
	for (;;) {
		touch(w, n);
		if (n++ == WARM)
			sem_post(&at_work);
		usleep(REST);
	}
}

static const char *io_for_ever(struct worker *w)
{
	unsigned int n;
	ssize_t done;

	for (n = 0;; n++) {
		off_t at = (off_t)w->number * PIECE;

		done = w->writes ? pwrite(w->disk, w->piece, PIECE, at) :
				   pread(w->disk, w->piece, PIECE, at);
		/* a part: the rest of the pages had gone */
		if (done < 0)
			return strerrorname_np(errno);
		if (n == WARM)
			sem_post(&at_work);
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;

	w->end = io ? io_for_ever(w) : touch_for_ever(w);
	return NULL;
}

/* It has no handler: its death is what the kernel makes of the signal. */
static void be_the_child(int ready)
{
	unsigned int n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGBUS, SIG_DFL);
	for (n = 0;; n++) {
		put(area + (n % WORKERS) * PIECE + 1, n);
		if (n == WARM && write(ready, "", 1) != 1)
			_exit(1);
		usleep(REST);
	}
}

static void make_child(void)
{
	int ready[2];
	char c;

	if (pipe(ready))
		die("pipe");
	child = fork();
	if (child < 0)
		die("fork");
	if (!child)
		be_the_child(ready[1]);
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		die("the child");
	close(ready[0]);
}

static int foreign(const char *what)
{
	int pidfd, fd, pid, number;

	if (sscanf(what, "%d:%d", &pid, &number) != 2)
		return open(what, O_RDWR | O_CLOEXEC);
	pidfd = syscall(SYS_pidfd_open, pid, 0);
	fd = syscall(SYS_pidfd_getfd, pidfd, number, 0);
	close(pidfd);
	return fd;
}

static void go(const char *what)
{
	int i;

	memory = foreign(what);
	if (memory < 0)
		die(what);
	area = mmap(NULL, nworkers * PIECE, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	if (area == MAP_FAILED)
		die("mmap");
	if (!io)
		make_child();
	for (i = 0; i < nworkers; i++) {
		workers[i].number = i;
		workers[i].piece = area + i * PIECE;
		workers[i].end = "?";
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			die("pthread_create");
	}
	for (i = 0; i < nworkers; i++)
		while (sem_wait(&at_work))
			;
	printf("at work\n");
}

static const char *new_mapping(void)
{
	void *at = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, memory, 0);

	if (at == MAP_FAILED)
		return strerrorname_np(errno);
	munmap(at, PAGE);
	return "a new one";
}

static bool is_there(const uint8_t *at)
{
	if (sigsetjmp(out, 1))
		return false;
	get(at);
	return true;
}

static const char *access_all(void)
{
	int i;

	for (i = 0; i < nworkers * PIECE; i += PAGE)
		if (is_there(area + i))
			return "memory";
	return "SIGBUS";
}

static void end(void)
{
	int i, status = 0;

	for (i = 0; i < nworkers; i++) {
		pthread_join(workers[i].thread, NULL);
		printf("%s ", workers[i].end);
	}
	if (!io) {
		waitpid(child, &status, 0);
		printf("child %s ", WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS ?
		       "SIGBUS" : "otherwise");
	}
	printf("mmap %s\n", new_mapping());
}

static void again(void)
{
	printf("%s mmap %s\n", access_all(), new_mapping());
	munmap(area, nworkers * PIECE);
	close(memory);
}

int main(int argc, char **argv)
{
	struct sigaction bus = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO };
	char line[300], what[256];
	int i;

	io = argc > 2 && !strcmp(argv[1], "io");
	nworkers = io ? 2 * (argc - 2) : WORKERS;
	if (nworkers > WORKERS || (!io && (argc != 2 || strcmp(argv[1], "map")))) {
		fprintf(stderr, "usage: %s map | io DISK [DISK]\n", argv[0]);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGBUS, &bus, NULL);
	sem_init(&at_work, 0, 0);
	for (i = 0; io && i < nworkers; i++) {
		workers[i].writes = i & 1;
		workers[i].disk = open(argv[2 + i / 2], O_RDWR | O_DIRECT);
		if (workers[i].disk < 0)
			die(argv[2 + i / 2]);
	}
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "go %255s", what) == 1)
			go(what);
		else if (!strcmp(line, "end\n"))
			end();
		else if (!strcmp(line, "again\n"))
			again();
		else
			die("no such command");
	}
	return 0;
}
