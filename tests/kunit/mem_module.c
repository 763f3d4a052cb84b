// SPDX-License-Identifier: GPL-2.0
/* KUnit: layer 1 of srnic, keys and memory. */
#include <linux/module.h>

#include "rng.h"

unsigned int rng_seed;
module_param_named(seed, rng_seed, uint, 0);
MODULE_PARM_DESC(seed, "What random numbers begin with (default 0)");

MODULE_DESCRIPTION("KUnit tests of srnic's key table and memory access");
MODULE_LICENSE("GPL");
