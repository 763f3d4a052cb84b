// SPDX-License-Identifier: GPL-2.0
/* KUnit: layer 1 of srnic, keys and memory. */
#include <linux/module.h>

MODULE_DESCRIPTION("KUnit tests of srnic's key table and memory access");
MODULE_LICENSE("GPL");
