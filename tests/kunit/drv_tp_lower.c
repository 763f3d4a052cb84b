// SPDX-License-Identifier: GPL-2.0
/* The layers below the queues, as in the other modules. */
#include "../../drivers/srnic/pkt.c"
#include "../../drivers/srnic/key.c"
#include "../../drivers/srnic/mpt_check.c"
#include "../../drivers/srnic/mpt.c"
#include "../../drivers/srnic/mtt.c"
#include "../../drivers/srnic/access.c"
#include "../../drivers/srnic/sge.c"
#include "../../drivers/srnic/opcode.c"
#include "../../drivers/srnic/ledger.c"
