#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --cpus 2 --kernel debug --donors bar:16M --timeout 1800
#
# link_end.t under KASAN, lockdep and kmemleak: every end of a link in the middle
# of traffic, on the side that sends and on the one that answers. In one guest, as
# two of that kernel would take most of an hour; teardown.t has two hosts.
. /srnic/tests/vm/link_end.t
