// SPDX-License-Identifier: GPL-2.0
/*
 * libFuzzer: the driver's own srnic_mpt_check(), its source compiled here,
 * against the oracle that KUnit uses. An input is as many pairs of entry and
 * request as its bytes decide. How many were compared is told at the end.
 */
#include <stdio.h>
#include <stdlib.h>

/* the driver's file, or a copy with a fault (tests/fuzz.t) */
#ifndef MPT_CHECK_C
#define MPT_CHECK_C	"../../drivers/srnic/mpt_check.c"
#endif
#include MPT_CHECK_C

#include "../kunit/mem_check_pairs.h"

static unsigned long long count[SRNIC_KEY_REASONS];

static void tell(void)
{
	unsigned long long pairs = 0;
	int i;

	for (i = 0; i < SRNIC_KEY_REASONS; i++)
		pairs += count[i];
	printf("%llu pairs", pairs);
	for (i = 0; i < SRNIC_KEY_REASONS; i++)
		printf(" %llu", count[i]);
	printf("\n");
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	atexit(tell);
	return 0;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct rnd_state rng = { .at = data, .left = size };

	while (rng.left) {
		enum srnic_key_reason got, want;
		struct srnic_mpt_entry e;
		struct srnic_mpt_req rq;

		random_pair(&rng, &e, &rq);
		got = srnic_mpt_check(&e, &rq);
		want = oracle(&e, &rq);
		if (got != want) {
			printf("check says %d, oracle %d\n", got, want);
			printf("entry: state %u kind %u key %#x access %#x pdn %u qpn %#x\n",
			       e.state, e.kind, e.key, e.access, e.pdn, e.qpn);
			printf("entry: iova %#llx length %#llx\n",
			       (unsigned long long)e.iova,
			       (unsigned long long)e.length);
			printf("request: key %#x access %#x pdn %u qpn %#x addr %#llx len %#llx\n",
			       rq.key, rq.access, rq.pdn, rq.qpn,
			       (unsigned long long)rq.addr,
			       (unsigned long long)rq.len);
			fflush(stdout);
			abort();
		}
		count[got]++;
	}
	return 0;
}
