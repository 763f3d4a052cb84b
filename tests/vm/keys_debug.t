#!/bin/bash
# vm: --hosts 1 --cpus 2 --kernel debug --donors bar:16M --timeout 900
# SPDX-License-Identifier: GPL-2.0
# Every allocation of every registration fails once; under KASAN, lockdep and
# kmemleak.
# shellcheck source=tests/vm/lib/lib.sh
. /srnic/tests/vm/lib/lib.sh
rdma_up srnic || bail "no srnic link"
device=$(donate_bar) || bail "no /dev/p2pmem0"
adopt /srnic/tests/vm/guest/keys_fail.py srnic0 "$MY_IP" "$device"
ok "all modules unload" \
	eval "rdma link del srnic0 && rmmod srnic && rmmod p2pmem_bar && rmmod p2pmem"
leak_check
done_testing
