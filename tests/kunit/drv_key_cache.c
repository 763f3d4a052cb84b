// SPDX-License-Identifier: GPL-2.0
#include "../../drivers/srnic/key_cache.c"
