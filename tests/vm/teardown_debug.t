#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --hosts 2 --donors a:bar,b:bar --kernel debug --timeout 2400
#
# teardown.t under KASAN, lockdep and kmemleak.
. /srnic/tests/vm/teardown.t
