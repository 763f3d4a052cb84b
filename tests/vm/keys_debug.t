#!/bin/bash
# vm: --hosts 1 --cpus 2 --kernel debug --donors bar:16M --timeout 900
# SPDX-License-Identifier: GPL-2.0
# Keys under KASAN, lockdep and kmemleak: every allocation of every registration fails
# once; and, in small, what keys.t, regions.t and ledger.t do.
# shellcheck source=tests/vm/lib/lib.sh
. /srnic/tests/vm/lib/lib.sh
rdma_up srnic || bail "no srnic link"
device=$(donate_bar) || bail "no /dev/p2pmem0"
adopt /srnic/tests/vm/guest/keys_fail.py srnic0 "$MY_IP" "$device"
index=$(gid_index srnic0 "$MY_IP") || bail "no GID for $MY_IP"
adopt timeout 100 key_check srnic0 "$index" --lives 300
adopt timeout 100 key_check srnic0 "$index" --large 512
adopt timeout 100 rereg_check srnic0 "$index" 28
adopt timeout 300 exact_check srnic0 "$index" "$device" \
	"echo $(donor_bdf bar) >/sys/bus/pci/drivers/p2pmem_bar/unbind"
device=$(donate_bar) || bail "no /dev/p2pmem0 again"
/srnic/tests/vm/guest/integrity.py --serve srnic0 "$MY_IP" &
adopt timeout 300 /srnic/tests/vm/guest/keys.py srnic0 "$MY_IP" 127.0.0.1 --one-way \
	--message 131072 --p2pmem "$device"
kill $! 2>/dev/null	# if nobody has come to it
wait
ok "all modules unload" \
	eval "rdma link del srnic0 && rmmod srnic && rmmod p2pmem_bar && rmmod p2pmem"
leak_check
done_testing
