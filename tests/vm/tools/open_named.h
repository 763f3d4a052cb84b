/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OPEN_NAMED_H
#define OPEN_NAMED_H

#include <string.h>

#include <infiniband/verbs.h>

/* The device of this name, opened; NULL: there is none, or it can't be. */
static inline struct ibv_context *open_named(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;
	int i;

	for (i = 0; list && list[i] && !ctx; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	return ctx;
}

#endif /* OPEN_NAMED_H */
