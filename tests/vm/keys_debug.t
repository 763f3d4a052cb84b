#!/bin/bash
# vm: --hosts 1 --cpus 2 --kernel debug --donors bar:16M --timeout 900
# SPDX-License-Identifier: GPL-2.0
# Every allocation of every registration fails once; under KASAN, lockdep and
# kmemleak.
# shellcheck source=tests/vm/lib/lib.sh
. /srnic/tests/vm/lib/lib.sh
rdma_up srnic || bail "no srnic link"
device=$(donate_bar) || bail "no /dev/p2pmem0"
while read -r line; do
	case $line in
	ok*)		pass "${line#*- }" ;;
	not\ ok*)	fail "${line#*- }" || : ;;
	1..*)		plan=$line ;;
	*)		last=$line; printf '# %s\n' "${line#\# }" ;;
	esac
done < <(/srnic/tests/vm/guest/keys_fail.py srnic0 "$MY_IP" "$device" 2>&1; echo "status $?")
like "it came to its end" "$plan, $last" '^1\.\.[0-9]+, status [01]$'
ok "all modules unload" \
	eval "rdma link del srnic0 && rmmod srnic && rmmod p2pmem_bar && rmmod p2pmem"
leak_check
done_testing
