// SPDX-License-Identifier: GPL-2.0
/* The code behind the tracepoints, once in the module. */
#include <linux/types.h>

#define CREATE_TRACE_POINTS
#include "trace.h"
