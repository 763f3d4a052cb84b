#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --cpus 2 --kernel debug --donors bar:16M --timeout 1200
#
# Every end of a link in the middle of traffic, under KASAN, lockdep and
# kmemleak; on the side that sends and on the one that answers. In one guest,
# as two of that kernel would take most of an hour; teardown.t has two hosts.
. /srnic/tests/vm/lib/lib.sh
. /srnic/tests/vm/guest/link.sh
. /srnic/tests/vm/guest/ends.sh
modprobe ib_uverbs
all_ends
leak_check
done_testing
