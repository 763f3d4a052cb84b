#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: --hosts 2 --donors a:bar,b:bar --kernel debug --timeout 2400
#
# Of teardown.t one case of each kind, under KASAN, lockdep and kmemleak: two
# such guests are so slow that all of them would take most of an hour.
export CASES="kill_client_bar rmmod_server netdev_server namespace_server"
. /srnic/tests/vm/teardown.t
