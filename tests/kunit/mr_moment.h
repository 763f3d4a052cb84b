/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Moments at which another CPU may do something that matters, for tests to do it then.
 * drv_memory.c compiles the sources concerned with this header.
 */
#ifndef SRNIC_TEST_MR_MOMENT_H
#define SRNIC_TEST_MR_MOMENT_H

#include "../../drivers/srnic/backing.h"
#include "../../drivers/srnic/mpt.h"

/**
 * struct mr_moment - what to call, with bottom halves disabled; or NULL
 * @key_works: a fast registration has just made its key work
 * @region_found: of a bind; the window hasn't been looked at
 * @arg: their argument
 */
struct mr_moment {
	void (*key_works)(void *arg);
	void (*region_found)(void *arg);
	void *arg;
};

extern struct mr_moment mr_moment;

static inline void mr_change_finish(struct srnic_mpt_entry *e,
				    const struct srnic_mpt_grant *to)
{
	srnic_mpt_change_finish(e, to);
	if (mr_moment.key_works)
		mr_moment.key_works(mr_moment.arg);
}

static inline struct srnic_backing *mr_visit(struct srnic_mpt *mpt,
					     const struct srnic_mpt_req *region,
					     enum srnic_key_reason *why)
{
	struct srnic_backing *b = srnic_backing_visit(mpt, region, why);

	if (b && mr_moment.region_found)
		mr_moment.region_found(mr_moment.arg);
	return b;
}

#endif /* SRNIC_TEST_MR_MOMENT_H */
