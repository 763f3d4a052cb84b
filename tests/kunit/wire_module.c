// SPDX-License-Identifier: GPL-2.0
/* KUnit: layer 0 of srnic, bytes on the wire. */
#include <linux/module.h>

MODULE_DESCRIPTION("KUnit tests of srnic's packets, opcodes and ICRC");
MODULE_LICENSE("GPL");
