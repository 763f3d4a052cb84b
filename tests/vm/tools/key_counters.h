/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How often keys have been refused, by reason, as it is at this moment. Over netlink:
 * what sysfs shows may be some milliseconds old.
 */
#ifndef KEY_COUNTERS_H
#define KEY_COUNTERS_H

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>

#include "verbs_check.h"

static const char * const key_reason[] = {
	"unknown", "stale", "pd", "access", "bounds", "state", "revoked", "qp",
};

#define KEY_REASONS	ARRAY_SIZE(key_reason)

static int counters_fd = -1;
static uint32_t counters_dev;	/* the device's number in netlink */
static uint8_t counters_msg[65536] __attribute__((aligned(8)));

static inline size_t counters_answer(void)
{
	ssize_t got = recv(counters_fd, counters_msg, sizeof(counters_msg), 0);

	if (got < (ssize_t)sizeof(struct nlmsghdr) ||
	    ((struct nlmsghdr *)counters_msg)->nlmsg_type == NLMSG_ERROR)
		die("the answer of netlink");
	return got;
}

/* Ask about a port of a device, or about all devices; the answer's bytes. */
static inline size_t counters_ask(int command, int flags, uint32_t dev)
{
	struct {
		struct nlmsghdr hdr;
		struct {
			struct nlattr head;
			uint32_t value;
		} attr[2];
	} req = {
		.hdr = {
			.nlmsg_len = sizeof(req),
			.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command),
			.nlmsg_flags = NLM_F_REQUEST | flags,
		},
		.attr = {
			{ { 8, RDMA_NLDEV_ATTR_DEV_INDEX }, dev },
			{ { 8, RDMA_NLDEV_ATTR_PORT_INDEX }, 1 },
		},
	};

	if (flags & NLM_F_DUMP)
		req.hdr.nlmsg_len = sizeof(req.hdr);
	if (send(counters_fd, &req, req.hdr.nlmsg_len, 0) < 0)
		die("netlink");
	return counters_answer();
}

/* The next attribute of @type in [*at, end), and *at behind it; NULL: none. */
static inline const struct nlattr *counters_attr(const uint8_t **at, const uint8_t *end,
						 int type)
{
	while (end - *at >= NLA_HDRLEN) {
		const struct nlattr *a = (const void *)*at;

		*at += NLA_ALIGN(a->nla_len);
		if ((a->nla_type & NLA_TYPE_MASK) == type)
			return a;
	}
	return NULL;
}

static inline const void *counters_value(const struct nlattr *attr)
{
	if (!attr)
		die("an attribute of netlink");
	return (const uint8_t *)attr + NLA_HDRLEN;
}

/* The number of the device that is open, out of a list of all. */
static inline void counters_open(void)
{
	bool found = false;
	size_t left;

	counters_fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);
	if (counters_fd < 0)
		die("netlink");
	for (left = counters_ask(RDMA_NLDEV_CMD_GET, NLM_F_DUMP, 0);; left = counters_answer()) {
		struct nlmsghdr *h = (void *)counters_msg;

		for (; NLMSG_OK(h, left) && h->nlmsg_type != NLMSG_DONE; h = NLMSG_NEXT(h, left)) {
			const uint8_t *end = (uint8_t *)h + h->nlmsg_len;
			const uint8_t *name = NLMSG_DATA(h), *number = name;

			if (strcmp(counters_value(counters_attr(&name, end,
								RDMA_NLDEV_ATTR_DEV_NAME)),
				   ibv_get_device_name(ctx->device)))
				continue;
			counters_dev = *(const uint32_t *)
				counters_value(counters_attr(&number, end,
							     RDMA_NLDEV_ATTR_DEV_INDEX));
			found = true;
		}
		if (NLMSG_OK(h, left))
			break;
	}
	if (!found)
		die("the device in netlink");
}

static inline void counters_read(uint64_t *value)
{
	const uint8_t *end = counters_msg + counters_ask(RDMA_NLDEV_CMD_STAT_GET, 0,
							 counters_dev);
	const uint8_t *at = NLMSG_DATA((struct nlmsghdr *)counters_msg);
	const struct nlattr *a = counters_attr(&at, end, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
	size_t i, found = 0;

	at = counters_value(a);
	end = (const uint8_t *)a + a->nla_len;
	while ((a = counters_attr(&at, end, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY))) {
		const uint8_t *name = counters_value(a), *v = name;
		const char *text = counters_value(counters_attr(&name, at,
						RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME));

		v = counters_value(counters_attr(&v, at,
						 RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE));
		for (i = 0; i < KEY_REASONS; i++)
			if (!strncmp(text, "key_", 4) && !strcmp(text + 4, key_reason[i])) {
				memcpy(&value[i], v, sizeof(*value));
				found++;
			}
	}
	if (found != KEY_REASONS)
		die("the counters of refusals");
}

/* Which has moved, by one, since the last call; "": none, "several": more than that. */
static inline const char *counters_moved(void)
{
	static uint64_t last[KEY_REASONS];
	uint64_t now[KEY_REASONS];
	const char *which = "";
	size_t i;

	counters_read(now);
	for (i = 0; i < KEY_REASONS; i++) {
		if (now[i] == last[i])
			continue;
		which = now[i] == last[i] + 1 && !*which ? key_reason[i] : "several";
		last[i] = now[i];
	}
	return which;
}

#endif /* KEY_COUNTERS_H */
