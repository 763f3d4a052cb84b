// SPDX-License-Identifier: GPL-2.0
#include <linux/module.h>

MODULE_DESCRIPTION("KUnit tests of srnic's memory regions and windows");
MODULE_LICENSE("GPL");
