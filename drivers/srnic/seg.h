/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bytes in pieces: what lies between an skb (or a test's table) and memory.
 */
#ifndef SRNIC_SEG_H
#define SRNIC_SEG_H

#include <linux/uio.h>

/**
 * struct srnic_cursor - a reading position in a list of pieces
 * @seg: the current piece
 * @off: bytes of it that have been read
 *
 * Whoever reads must not read more than the list holds.
 */
struct srnic_cursor {
	const struct kvec *seg;
	size_t off;
};

/**
 * srnic_cursor_take() - the next contiguous bytes
 * @c: position, moved on
 * @max: how many are wanted, not 0
 * @p: where they are
 *
 * Return: how many there are at *@p, 1 to @max.
 */
static inline size_t srnic_cursor_take(struct srnic_cursor *c, size_t max,
				       const void **p)
{
	size_t n;

	while (c->off == c->seg->iov_len) {
		c->seg++;
		c->off = 0;
	}
	n = min(max, c->seg->iov_len - c->off);
	*p = c->seg->iov_base + c->off;
	c->off += n;
	return n;
}

#endif /* SRNIC_SEG_H */
