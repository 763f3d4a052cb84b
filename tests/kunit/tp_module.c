// SPDX-License-Identifier: GPL-2.0
/* KUnit: layer 4 of srnic, requester and responder. */
#include <linux/module.h>

MODULE_DESCRIPTION("KUnit tests of srnic's transport");
MODULE_LICENSE("GPL");
