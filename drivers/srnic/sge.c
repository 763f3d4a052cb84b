// SPDX-License-Identifier: GPL-2.0
#include "sge.h"

/*
 * The next piece of the list: from *off (which moves from the list's start to
 * the piece's) at most len bytes. NULL behind the end.
 */
static const struct ib_sge *sgl_seek(const struct srnic_sgl *sgl, u32 *idx,
				     u32 *off)
{
	while (*idx < sgl->nsge && *off >= sgl->sge[*idx].length) {
		*off -= sgl->sge[*idx].length;
		(*idx)++;
	}
	return *idx < sgl->nsge ? &sgl->sge[*idx] : NULL;
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
				    const struct srnic_sgl *sgl, u32 off,
				    u32 len, struct srnic_cursor *src)
{
	u32 idx = 0;

	while (len) {
		const struct ib_sge *sge = sgl_seek(sgl, &idx, &off);
		struct srnic_mpt_req rq;
		enum srnic_key_reason why;

		if (!sge)
			return SRNIC_KEY_BOUNDS;
		rq = (struct srnic_mpt_req) {
			.key = sge->lkey,
			.pdn = sgl->pdn,
			.qpn = sgl->qpn,
			.access = IB_ACCESS_LOCAL_WRITE,
			.addr = sge->addr + off,
			.len = min(len, sge->length - off),
		};
		why = srnic_access_put(mpt, &rq, src);
		if (why)
			return why;
		off += rq.len;
		len -= rq.len;
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
				    const struct srnic_sgl *sgl, u32 off,
				    u32 len, void *dst)
{
	u32 idx = 0;

	while (len) {
		const struct ib_sge *sge = sgl_seek(sgl, &idx, &off);
		struct srnic_mpt_req rq;
		enum srnic_key_reason why;

		if (!sge)
			return SRNIC_KEY_BOUNDS;
		rq = (struct srnic_mpt_req) {
			.key = sge->lkey,
			.pdn = sgl->pdn,
			.qpn = sgl->qpn,
			.addr = sge->addr + off,
			.len = min(len, sge->length - off),
		};
		why = srnic_access_get(mpt, &rq, dst);
		if (why)
			return why;
		dst += rq.len;
		off += rq.len;
		len -= rq.len;
	}
	return SRNIC_KEY_OK;
}
