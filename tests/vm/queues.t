#!/bin/bash
# vm: --hosts 1 --cpus 2 --donors bar:16M --timeout 400
# SPDX-License-Identifier: GPL-2.0
# Queues at their ends: full, overrun, reset, destroyed; the events of that; and
# their memory: whose it is, and that none of a donor's is pinned by chance; and
# a program that writes nonsense into them.
# shellcheck source=tests/vm/lib/lib.sh
. /srnic/tests/vm/lib/lib.sh
rdma_up srnic || bail "no srnic link"
index=$(gid_index srnic0 "$MY_IP") || bail "no GID for $MY_IP"

check() { adopt timeout 150 "$1" srnic0 "$index" "${@:2}"; }

check queue_check
check ring_check

cgroup=/sys/fs/cgroup/queues
if grep -qsw memory /sys/fs/cgroup/cgroup.controllers; then
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control
	mkdir $cgroup || bail "no memory cgroup"
	check memory_check --memcg $cgroup
	like "nobody was killed for it" "$(cat $cgroup/memory.events)" 'oom_kill 0'
	rmdir $cgroup
else
	skip "rings are charged to a memory cgroup" "the debug kernel has none"
fi

device=$(donate_bar) || bail "no /dev/p2pmem0"
size=/sys/class/p2pmem/${device##*/}/size
available=/sys/class/p2pmem/${device##*/}/available
check memory_check --race "$device"
ok "the donor has all of its memory again" \
	wait_for 10 eval "[ \$(cat $size) = \$(cat $available) ]"
ok "all modules unload" eval "rdma link del srnic0 && rmmod srnic && rmmod p2pmem_bar && rmmod p2pmem"
leak_check
done_testing
