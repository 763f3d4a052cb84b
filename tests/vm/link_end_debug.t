#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --cpus 2 --kernel debug --timeout 900
#
# link_end.t under KASAN, lockdep and kmemleak.
. /srnic/tests/vm/link_end.t
