// SPDX-License-Identifier: GPL-2.0
#define TP_REPLACE
#include "tp_clock.h"
#include "../../drivers/srnic/local.c"
