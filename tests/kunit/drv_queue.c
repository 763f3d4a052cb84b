// SPDX-License-Identifier: GPL-2.0
/* Completion queues and their rings. */
#include "../../drivers/srnic/ring.c"
#include "../../drivers/srnic/cq.c"
