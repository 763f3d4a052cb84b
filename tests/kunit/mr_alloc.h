/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Allocations of the memory layer under test: counted, and any one of them fails
 * when a test says so. drv_memory.c is compiled with this header.
 */
#ifndef SRNIC_TEST_MR_ALLOC_H
#define SRNIC_TEST_MR_ALLOC_H

/* All that those sources include, before names change their meaning. */
#include <linux/dma-buf.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/xarray.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>

/**
 * struct mr_allocs - what has been allocated
 * @held: and not freed
 * @fail_in: so many more, and the last of these fails; 0: none
 * @unaccounted: of those in all, how many aren't charged to who made the kernel do it
 */
struct mr_allocs {
	atomic_t held;
	atomic_t fail_in;
	atomic_t unaccounted;
};

extern struct mr_allocs mr_allocs;

static inline bool mr_alloc_fails(void)
{
	return atomic_read(&mr_allocs.fail_in) &&
	       atomic_dec_and_test(&mr_allocs.fail_in);
}

static inline void *mr_allocated(void *p)
{
	if (p)
		atomic_inc(&mr_allocs.held);
	return p;
}

static inline void mr_charged(gfp_t gfp)
{
	if (!(gfp & __GFP_ACCOUNT))
		atomic_inc(&mr_allocs.unaccounted);
}

static inline void mr_freed(const void *p)
{
	if (p)
		atomic_dec(&mr_allocs.held);
}

#ifdef MR_REPLACE
static inline void *mr_kzalloc(size_t size, gfp_t gfp)
{
	mr_charged(gfp);
	return mr_alloc_fails() ? NULL : mr_allocated(kzalloc(size, gfp));
}

static inline void *mr_kvmalloc(size_t size, gfp_t gfp)
{
	mr_charged(gfp);
	return mr_alloc_fails() ? NULL : mr_allocated(kvmalloc(size, gfp));
}

static inline void *mr_kvcalloc(size_t n, size_t size, gfp_t gfp)
{
	mr_charged(gfp);
	return mr_alloc_fails() ? NULL : mr_allocated(kvcalloc(n, size, gfp));
}

static inline void __percpu *mr_alloc_percpu(size_t size, size_t align)
{
	void __percpu *p = mr_alloc_fails() ? NULL : __alloc_percpu(size, align);

	if (p)
		atomic_inc(&mr_allocs.held);
	return p;
}

static inline void mr_kfree(const void *p)
{
	mr_freed(p);
	kfree(p);
}

static inline void mr_kvfree(const void *p)
{
	mr_freed(p);
	kvfree(p);
}

static inline void mr_kvfree_sensitive(const void *p, size_t len)
{
	mr_freed(p);
	kvfree_sensitive(p, len);
}

static inline void mr_free_percpu(void __percpu *p)
{
	if (p)
		atomic_dec(&mr_allocs.held);
	free_percpu(p);
}

#undef kzalloc
#undef kvmalloc
#undef kvzalloc
#undef kvcalloc
#undef __alloc_percpu
#undef kfree_rcu
#define kzalloc			mr_kzalloc
#define kvmalloc		mr_kvmalloc
#define kvzalloc(size, gfp)	mr_kvmalloc(size, (gfp) | __GFP_ZERO)
#define kvcalloc		mr_kvcalloc
#define __alloc_percpu		mr_alloc_percpu
#define kfree			mr_kfree
#define kvfree			mr_kvfree
#define kvfree_sensitive	mr_kvfree_sensitive
#define free_percpu		mr_free_percpu
#define kfree_rcu(p, rcu)			\
do {						\
	mr_freed(p);				\
	kvfree_rcu(p, rcu);			\
} while (0)
#endif

#endif /* SRNIC_TEST_MR_ALLOC_H */
