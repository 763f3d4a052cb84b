#!/bin/bash
# vm: --hosts 1 --cpus 2 --kernel debug --donors bar:16M --timeout 900
# SPDX-License-Identifier: GPL-2.0
# queues.t under KASAN, lockdep and kmemleak.
. /srnic/tests/vm/queues.t
