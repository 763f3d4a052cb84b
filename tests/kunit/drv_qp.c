// SPDX-License-Identifier: GPL-2.0
#define TP_REPLACE
#include "tp_clock.h"
#include "no_trace.h"
#include "../../drivers/srnic/qp.c"
