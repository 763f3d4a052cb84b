// SPDX-License-Identifier: GPL-2.0
#include "../../drivers/srnic/mpt_state.c"
