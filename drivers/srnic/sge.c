// SPDX-License-Identifier: GPL-2.0
#include "sge.h"

/*
 * The next piece of the list, as a request in sgl->rq: from *off (which moves
 * from the list's start to the piece's) at most len bytes. The refusal behind
 * the end.
 */
static enum srnic_key_reason next_piece(struct srnic_sgl *sgl, u32 *idx,
					u32 *off, u32 len, u32 access)
{
	struct srnic_mpt_req *rq = &sgl->rq;
	const struct ib_sge *sge;

	while (*idx < sgl->nsge && *off >= sgl->sge[*idx].length) {
		*off -= sgl->sge[*idx].length;
		(*idx)++;
	}
	if (*idx == sgl->nsge) {
		*rq = (struct srnic_mpt_req) { .access = access, .len = len };
		return SRNIC_KEY_BOUNDS;
	}
	sge = &sgl->sge[*idx];
	*rq = (struct srnic_mpt_req) {
		.key = sge->lkey,
		.pdn = sgl->pdn,
		.qpn = sgl->qpn,
		.access = access,
		.addr = sge->addr + *off,
		.len = min(len, sge->length - *off),
	};
	*off += rq->len;
	return SRNIC_KEY_OK;
}

/**
 * srnic_sgl_put() - scatter
 * @mpt: key table
 * @sgl: where to
 * @off: bytes of the list to skip
 * @len: bytes to write
 * @src: what to write
 *
 * Return: the first refusal; pieces before it are written.
 */
enum srnic_key_reason srnic_sgl_put(struct srnic_mpt *mpt,
				    struct srnic_sgl *sgl, u32 off,
				    u32 len, struct srnic_cursor *src)
{
	enum srnic_key_reason why;
	u32 idx = 0;

	for (; len; len -= sgl->rq.len) {
		why = next_piece(sgl, &idx, &off, len, IB_ACCESS_LOCAL_WRITE);
		if (!why)
			why = srnic_access_put(mpt, &sgl->rq, sgl->rq.len,
					       src);
		if (why)
			return why;
	}
	return SRNIC_KEY_OK;
}

/**
 * srnic_sgl_get() - gather
 * @mpt: key table
 * @sgl: where from
 * @off: bytes of the list to skip
 * @len: bytes to read
 * @dst: where to
 *
 * Return: the first refusal.
 */
enum srnic_key_reason srnic_sgl_get(struct srnic_mpt *mpt,
				    struct srnic_sgl *sgl, u32 off,
				    u32 len, void *dst)
{
	enum srnic_key_reason why;
	u32 idx = 0;

	for (; len; len -= sgl->rq.len, dst += sgl->rq.len) {
		why = next_piece(sgl, &idx, &off, len, 0);
		if (!why)
			why = srnic_access_get(mpt, &sgl->rq, dst);
		if (why)
			return why;
	}
	return SRNIC_KEY_OK;
}
