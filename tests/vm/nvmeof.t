#!/bin/bash
# vm: --hosts 2 --timeout 400
# SPDX-License-Identifier: GPL-2.0
# A kernel user of fast-register keys that nobody here wrote: NVMe over Fabrics.
# Host a has host b's disk. Each read and write registers its pages (REG_MR) and
# has the key invalidated, by a SEND of the target or by LOCAL_INV. Both ends on
# srnic, and each with rdma_rxe at the other.
# shellcheck source=tests/vm/lib/lib.sh
. /srnic/tests/vm/lib/lib.sh
from_a
debug=/sys/kernel/debug/srnic/srnic0
trace=/sys/kernel/tracing
[ -e $trace/trace ] || mount -t tracefs tracefs $trace
[ -e /sys/kernel/debug/tracing ] || mount -t debugfs debugfs /sys/kernel/debug
nvmet=/sys/kernel/config/nvmet

target_up()
{
	modprobe -a nvmet nvmet-rdma || return 1
	[ -d $nvmet ] || mount -t configfs none /sys/kernel/config
	[ -e /tmp/disk ] || truncate -s 16M /tmp/disk
	mkdir $nvmet/subsystems/disk $nvmet/subsystems/disk/namespaces/1 $nvmet/ports/1
	echo 1 >$nvmet/subsystems/disk/attr_allow_any_host
	echo -n /tmp/disk >$nvmet/subsystems/disk/namespaces/1/device_path
	echo 1 >$nvmet/subsystems/disk/namespaces/1/enable
	echo rdma >$nvmet/ports/1/addr_trtype
	echo ipv4 >$nvmet/ports/1/addr_adrfam
	echo "$MY_IP" >$nvmet/ports/1/addr_traddr
	echo 4420 >$nvmet/ports/1/addr_trsvcid
	ln -s $nvmet/subsystems/disk $nvmet/ports/1/subsystems/disk
}

target_down()
{
	rm $nvmet/ports/1/subsystems/disk
	rmdir $nvmet/ports/1 $nvmet/subsystems/disk/namespaces/1 $nvmet/subsystems/disk
	modprobe -r nvmet-rdma
}

# link_down TYPE: with the module, which holds port 4791
link_down()
{
	rdma link del "${1}0" && modprobe -r "${1/#rxe/rdma_rxe}"
}

disk()
{
	local name
	for name in /sys/class/nvme/nvme*/nvme*n1; do
		[ -e "$name" ] && grep -q rdma "${name%/*}/transport" || continue
		echo "/dev/$(basename "$name" | sed 's/c[0-9]*n/n/')"
		return
	done
	return 1
}

connect() { nvme connect -t rdma -n disk -a "$PEER_IP" -s 4420 -i 2 && wait_for 20 disk; }

# io SECONDS: verified blocks of odd sizes, many at a time
io()
{
	fio --name=io --filename="$(disk)" --rw=randrw --bsrange=4k-128k --direct=1 \
		--ioengine=libaio --iodepth=16 --size=12M --verify=crc32c \
		--verify_fatal=1 "$@"
}

traced() { grep -c "$1" $trace/trace; }

# What a and b have on disk is the same.
same_disk()
{
	local here there
	here=$(sha256sum <"$(disk)")
	there=$(on_b "sync; sha256sum </tmp/disk")
	[ "$here" = "$there" ] || { echo "a reads $here, b has $there"; return 1; }
}

modprobe nvme-rdma || bail "no nvme-rdma"
both "rdma_up srnic" || bail "no srnic link"
on_b "$(declare -p nvmet); $(declare -f target_up); target_up" || bail "no target"
keys=$(wc -l <$debug/mpt)
echo 1 >$trace/events/srnic/enable
ok "srnic has srnic's disk" connect
num "the disk has its keys" "$(grep -c ' frmr ' $debug/mpt)" -gt 100
echo >$trace/trace
ok "what is written is read again" io
echo 0 >$trace/events/srnic/enable
num "pages were registered" "$(traced 'key_born.*kind=2')" -gt 100
is "and each key was invalidated" "$(traced key_dead)" "$(traced 'key_born.*kind=2')"
ok "the target has it on its disk" same_disk
is "no key was refused" "$(cat $debug/refusals; on_b "cat $debug/refusals")" ""
ok "the disk goes" nvme disconnect -n disk
ok "and its keys" wait_for 20 eval "[ \$(wc -l <$debug/mpt) = $keys ]"

# the link is taken away while blocks are on their way
ok "the disk comes back" connect
io --time_based --runtime=30 >/tmp/fio 2>&1 &
fio=$!
sleep 2
ok "the link goes in the middle of it" rdma link del srnic0
kill $fio 2>/dev/null
wait $fio 2>/dev/null
nvme disconnect -n disk >/dev/null 2>&1
ok "nothing holds the module" wait_for 20 modprobe -r srnic
# shellcheck disable=SC2016 # for b
on_b "$(declare -p nvmet); $(declare -f target_down); target_down"
ok "nor there" on_b "$(declare -f link_down); link_down srnic"

for ends in "srnic rxe" "rxe srnic"; do
	read -r mine theirs <<<"$ends"
	rdma_up "$mine" || bail "no $mine link"
	on_b "rdma_up $theirs && $(declare -p nvmet); $(declare -f target_up); target_up" ||
		bail "no target on $theirs"
	ok "$mine has the disk of $theirs" connect
	ok "$mine, $theirs: what is written is read again" io
	ok "$mine, $theirs: the target has it on its disk" same_disk
	ok "$mine, $theirs: the disk goes" nvme disconnect -n disk
	on_b "$(declare -p nvmet); $(declare -f target_down); target_down"
	on_b "$(declare -f link_down); link_down $theirs"
	link_down "$mine"
done
done_testing
