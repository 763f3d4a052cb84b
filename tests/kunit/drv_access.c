// SPDX-License-Identifier: GPL-2.0
#include "../../drivers/srnic/access.c"
#include "../../drivers/srnic/peer_none.c"
