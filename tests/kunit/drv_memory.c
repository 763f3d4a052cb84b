// SPDX-License-Identifier: GPL-2.0
/* The whole memory layer but peer.c, for which the test stands in. */
#define MR_REPLACE
#include "mr_alloc.h"
#include "mr_moment.h"
#include "no_trace.h"
#include "../../drivers/srnic/key.c"
#include "../../drivers/srnic/key_cache.c"
#include "../../drivers/srnic/mpt_check.c"
#include "../../drivers/srnic/mpt.c"
#include "../../drivers/srnic/mpt_state.c"
#include "../../drivers/srnic/mpt_reader.c"
#include "../../drivers/srnic/mtt.c"
#include "../../drivers/srnic/access.c"
#include "../../drivers/srnic/dmabuf.c"
#include "../../drivers/srnic/backing.c"
#include "../../drivers/srnic/mr.c"
#define srnic_mpt_change_finish	mr_change_finish
#include "../../drivers/srnic/frmr.c"
#undef srnic_mpt_change_finish
#define srnic_backing_visit	mr_visit
#include "../../drivers/srnic/mw.c"
#undef srnic_backing_visit
