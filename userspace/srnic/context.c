// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * How libibverbs finds the provider, opens the device and asks about it; and
 * what queues have in common, the mapping of rings and the doorbell.
 */
#include "srnic.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <util/util.h>

/* The values that the driver takes over unchanged. */
static_assert(SRNIC_SEND_FENCE == IBV_SEND_FENCE, "ABI");
static_assert(SRNIC_SEND_SIGNALED == IBV_SEND_SIGNALED, "ABI");
static_assert(SRNIC_SEND_SOLICITED == IBV_SEND_SOLICITED, "ABI");
static_assert(SRNIC_SEND_INLINE == IBV_SEND_INLINE, "ABI");
static_assert(SRNIC_WC_GRH == IBV_WC_GRH, "ABI");
static_assert(SRNIC_WC_WITH_IMM == IBV_WC_WITH_IMM, "ABI");
static_assert(SRNIC_WC_WITH_INV == IBV_WC_WITH_INV, "ABI");
static_assert(sizeof(struct srnic_ring_hdr) == SRNIC_RING_HDR_SIZE, "ABI");
static_assert(sizeof(struct srnic_send_wqe) == SRNIC_SEND_WQE_HDR_SIZE, "ABI");
static_assert(sizeof(struct srnic_recv_wqe) == SRNIC_RECV_WQE_HDR_SIZE, "ABI");
static_assert(sizeof(struct srnic_cqe) == 64, "ABI");
/* Scatter lists are copied as a whole. */
static_assert(sizeof(struct srnic_sge) == sizeof(struct ibv_sge) &&
	      offsetof(struct srnic_sge, addr) == offsetof(struct ibv_sge, addr) &&
	      offsetof(struct srnic_sge, length) == offsetof(struct ibv_sge, length) &&
	      offsetof(struct srnic_sge, lkey) == offsetof(struct ibv_sge, lkey),
	      "ABI");

/**
 * srnic_ring_map() - map a ring that the driver has made
 * @ring: to be filled in
 * @fd: of the context
 * @info: the driver's answer
 * @min_stride: what an entry must be able to hold
 *
 * Return: 0 or a positive errno. A description that doesn't add up means a
 * driver and a provider that don't belong together: EPROTO.
 */
int srnic_ring_map(struct srnic_ring *ring, int fd,
		   const struct srnic_ring_info *info, size_t min_stride)
{
	uint64_t need;
	void *map;

	if (!info->depth || info->depth & (info->depth - 1) ||
	    info->stride < min_stride || info->stride % 16)
		return EPROTO;
	need = SRNIC_RING_HDR_SIZE + (uint64_t)info->depth * info->stride;
	if (info->size < need || info->size > SIZE_MAX)
		return EPROTO;

	map = mmap(NULL, info->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   info->offset);
	if (map == MAP_FAILED)
		return errno;
	ring->hdr = map;
	ring->size = info->size;
	ring->mask = info->depth - 1;
	ring->stride = info->stride;
	return 0;
}

void srnic_ring_unmap(struct srnic_ring *ring)
{
	if (ring->hdr)
		munmap(ring->hdr, ring->size);
	ring->hdr = NULL;
}

/* All three have this layout. */
static_assert(sizeof(struct ibv_post_send) == sizeof(struct ibv_post_recv) &&
	      offsetof(struct ibv_post_send, qp_handle) ==
	      offsetof(struct ibv_post_recv, qp_handle) &&
	      offsetof(struct ibv_post_send, wqe_size) ==
	      offsetof(struct ibv_post_recv, wqe_size) &&
	      sizeof(struct ib_uverbs_post_send_resp) ==
	      sizeof(struct ib_uverbs_post_recv_resp),
	      "one doorbell for send and receive");
static_assert(sizeof(struct ibv_post_send) == sizeof(struct ibv_post_srq_recv) &&
	      offsetof(struct ibv_post_send, qp_handle) ==
	      offsetof(struct ibv_post_srq_recv, srq_handle) &&
	      offsetof(struct ibv_post_send, wqe_size) ==
	      offsetof(struct ibv_post_srq_recv, wqe_size) &&
	      sizeof(struct ib_uverbs_post_send_resp) ==
	      sizeof(struct ib_uverbs_post_srq_recv_resp),
	      "and for shared receive queues");

/**
 * srnic_doorbell() - tell the driver to look at a ring
 * @context: the device
 * @command: of the three that post; no work request comes with it
 * @handle: of the QP or the SRQ
 *
 * Return: 0 or a positive errno.
 */
int srnic_doorbell(struct ibv_context *context,
		   enum ib_uverbs_write_cmds command, uint32_t handle)
{
	struct ib_uverbs_post_send_resp resp;
	struct ibv_post_send cmd = {
		.hdr.command = command,
		.hdr.in_words = sizeof(cmd) / 4,
		.hdr.out_words = sizeof(resp) / 4,
		.response = (uintptr_t)&resp,
		.qp_handle = handle,
		/* the least that is accepted, the larger for both kinds */
		.wqe_size = sizeof(struct ib_uverbs_send_wr),
	};

	/*
	 * What is in the ring can't be taken back: others may make the driver
	 * look at it. So a lack of memory in the kernel isn't the program's
	 * concern, which would post its work a second time.
	 */
	while (write(context->cmd_fd, &cmd, sizeof(cmd)) != sizeof(cmd)) {
		if (errno != ENOMEM)
			return errno;
		sched_yield();
	}
	return 0;
}

static int query_device(struct ibv_context *context,
			const struct ibv_query_device_ex_input *input,
			struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct ib_uverbs_ex_query_device_resp resp;
	size_t resp_size = sizeof(resp);
	uint64_t version;
	int ret;

	ret = ibv_cmd_query_device_any(context, input, attr, attr_size, &resp,
				       &resp_size);
	if (ret)
		return ret;

	version = resp.base.fw_ver;
	snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver),
		 "%u.%u.%u", (unsigned int)(version >> 32) & 0xffff,
		 (unsigned int)(version >> 16) & 0xffff,
		 (unsigned int)version & 0xffff);

	/* Every completion carries a time stamp in nanoseconds. */
	if (attr_size >= offsetofend(struct ibv_device_attr_ex,
				     completion_timestamp_mask))
		attr->completion_timestamp_mask = UINT64_MAX;
	if (attr_size >= offsetofend(struct ibv_device_attr_ex, hca_core_clock))
		attr->hca_core_clock = 1000000; /* kHz */
	return 0;
}

static int query_port(struct ibv_context *context, uint8_t port,
		      struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd;

	return ibv_cmd_query_port(context, port, attr, &cmd, sizeof(cmd));
}

static int query_rt_values(struct ibv_context *context,
			   struct ibv_values_ex *values)
{
	uint32_t asked = values->comp_mask;

	(void)context;
	values->comp_mask = 0;
	if (asked & IBV_VALUES_MASK_RAW_CLOCK) {
		if (clock_gettime(CLOCK_MONOTONIC_RAW, &values->raw_clock))
			return errno;
		values->comp_mask |= IBV_VALUES_MASK_RAW_CLOCK;
	}
	return 0;
}

static void free_context(struct ibv_context *ibctx)
{
	struct srnic_context *context = to_srnic_context(ibctx);

	verbs_uninit_context(&context->verbs);
	free(context);
}

static const struct verbs_context_ops context_ops = {
	.alloc_mw = srnic_alloc_mw,
	.alloc_parent_domain = srnic_alloc_parent_domain,
	.alloc_pd = srnic_alloc_pd,
	.alloc_td = srnic_alloc_td,
	.attach_mcast = ibv_cmd_attach_mcast,
	.bind_mw = srnic_bind_mw,
	.create_ah = srnic_create_ah,
	.create_cq = srnic_create_cq,
	.create_cq_ex = srnic_create_cq_ex,
	.create_qp = srnic_create_qp,
	.create_qp_ex = srnic_create_qp_ex,
	.create_srq = srnic_create_srq,
	.create_srq_ex = srnic_create_srq_ex,
	.dealloc_mw = srnic_dealloc_mw,
	.dealloc_pd = srnic_dealloc_pd,
	.dealloc_td = srnic_dealloc_td,
	.dereg_mr = srnic_dereg_mr,
	.destroy_ah = srnic_destroy_ah,
	.destroy_cq = srnic_destroy_cq,
	.destroy_qp = srnic_destroy_qp,
	.destroy_srq = srnic_destroy_srq,
	.detach_mcast = ibv_cmd_detach_mcast,
	.free_context = free_context,
	.get_srq_num = srnic_get_srq_num,
	.modify_cq = srnic_modify_cq,
	.modify_qp = srnic_modify_qp,
	.modify_srq = srnic_modify_srq,
	.poll_cq = srnic_poll_cq,
	.post_recv = srnic_post_recv,
	.post_send = srnic_post_send,
	.post_srq_recv = srnic_post_srq_recv,
	.query_device_ex = query_device,
	.query_port = query_port,
	.query_qp = srnic_query_qp,
	.query_rt_values = query_rt_values,
	.query_srq = srnic_query_srq,
	.reg_dmabuf_mr = srnic_reg_dmabuf_mr,
	.reg_mr = srnic_reg_mr,
	.req_notify_cq = ibv_cmd_req_notify_cq,
	.rereg_mr = srnic_rereg_mr,
	.resize_cq = srnic_resize_cq,
};

static struct verbs_context *alloc_context(struct ibv_device *device,
					   int cmd_fd, void *private_data)
{
	struct srnic_u_get_context_resp resp = {};
	struct srnic_u_get_context cmd = {};
	struct srnic_context *context;

	(void)private_data;
	context = verbs_init_and_alloc_context(device, cmd_fd, context, verbs,
					       SRNIC_DRIVER_ID);
	if (!context)
		return NULL;

	cmd.drv_payload.abi_version = SRNIC_UVERBS_ABI_VERSION;
	if (ibv_cmd_get_context(&context->verbs, &cmd.ibv_cmd, sizeof(cmd),
				&resp.ibv_resp, sizeof(resp)))
		goto uninit;
	if (resp.drv_payload.abi_version != SRNIC_UVERBS_ABI_VERSION) {
		verbs_err(&context->verbs,
			  "the driver has ABI version %u, this provider %u\n",
			  resp.drv_payload.abi_version,
			  SRNIC_UVERBS_ABI_VERSION);
		errno = EPROTONOSUPPORT;
		goto uninit;
	}
	context->max_inline = resp.drv_payload.max_inline;
	verbs_set_ops(&context->verbs, &context_ops);
	return &context->verbs;

uninit:
	verbs_uninit_context(&context->verbs);
	free(context);
	return NULL;
}

static struct verbs_device *alloc_device(struct verbs_sysfs_dev *sysfs_dev)
{
	(void)sysfs_dev;
	return calloc(1, sizeof(struct verbs_device));
}

static void uninit_device(struct verbs_device *device)
{
	free(device);
}

/*
 * The driver's number is private, yet libibverbs needs a match table: without
 * one a provider is never asked.
 */
static const struct verbs_match_ent match_table[] = {
	VERBS_DRIVER_ID(SRNIC_DRIVER_ID),
	{},
};

static const struct verbs_device_ops srnic_device_ops = {
	.name = "srnic",
	.match_min_abi_version = SRNIC_UVERBS_ABI_VERSION,
	.match_max_abi_version = SRNIC_UVERBS_ABI_VERSION,
	.match_table = match_table,
	.alloc_device = alloc_device,
	.uninit_device = uninit_device,
	.alloc_context = alloc_context,
};

PROVIDER_DRIVER(srnic, srnic_device_ops);
