/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A dma-buf of kernel memory whose exporter takes it back when a test says so, and
 * refuses each step of its use that a test chooses.
 */
#ifndef SRNIC_TEST_DMABUF_EXPORTER_H
#define SRNIC_TEST_DMABUF_EXPORTER_H

#include <kunit/test.h>
#include <linux/completion.h>

struct dma_buf;

/* What an importer asks for, one after the other. */
enum exporter_step {
	EXPORTER_ATTACH,
	EXPORTER_PIN,
	EXPORTER_VMAP,
	EXPORTER_CPU_ACCESS,
	EXPORTER_STEPS
};

/**
 * struct exporter - the exporter of one buffer
 * @buf: the buffer
 * @fd: a file descriptor of it
 * @size: bytes
 * @mem: they
 * @err: what each step says
 * @held: steps that have been done and not undone
 * @released: the buffer has gone
 */
struct exporter {
	struct dma_buf *buf;
	int fd;
	size_t size;
	u8 *mem;
	int err[EXPORTER_STEPS];
	int held[EXPORTER_STEPS];
	struct completion released;
};

struct exporter *exporter_new(struct kunit *test, size_t size);
/* One whose memory a CPU can't be shown (no vmap). */
struct exporter *exporter_new_hidden(struct kunit *test, size_t size);
/* Importers have their memory taken away. */
void exporter_revoke(struct exporter *x);
/* Nobody holds anything, so that it goes. */
void exporter_end(struct kunit *test, struct exporter *x);
int exporter_holds(const struct exporter *x);

#endif /* SRNIC_TEST_DMABUF_EXPORTER_H */
