#!/bin/bash
# vm: --hosts 1 --timeout 400
# SPDX-License-Identifier: GPL-2.0
# The provider: every call, its refusals, and how few system calls it makes.
# shellcheck source=tests/vm/lib/lib.sh
. /srnic/tests/vm/lib/lib.sh
type=${TYPE:-srnic}
rdma_up "$type" || bail "no $type link"
index=$(gid_index "${type}0" "$MY_IP") || bail "no GID for $MY_IP"

status=0
timeout 100 provider_check "${type}0" "$index" >/tmp/out || status=$?
grep -v '^1\.\.' /tmp/out
# shellcheck disable=SC2034 # of tap.sh
tap_count=$(grep -cE '^(not )?ok ' /tmp/out)
# shellcheck disable=SC2034
tap_failed=$(grep -c '^not ok ' /tmp/out)
like "the program came to its end" "$(tail -n 1 /tmp/out)/$status" \
	"^1\.\.$tap_count/$((tap_failed > 0))\$"

strace -o /tmp/trace -e trace=write,ioctl,prctl,poll,read \
	provider_check "${type}0" "$index" --syscalls
sed -n '/PR_SET_NAME, "begin"/,/PR_SET_NAME, "end"/p' /tmp/trace | grep -v PR_SET_NAME >/tmp/calls
is "8 receives, a list of 8 sends and polling: one system call" "$(wc -l </tmp/calls)" 1 ||
	diag "$(cat /tmp/calls)"

# a provider that the kernel doesn't know: a clear word, no crash
lib=/usr/lib/x86_64-linux-gnu/libibverbs/libsrnic-rdmav34.so
if [ "$type" = srnic ]; then
	like "another version is named in the kernel's log" "$(dmesg)" \
		'provider of ABI version 99, this driver speaks version 1'
	like "ibv_devinfo knows the device" "$(ibv_devinfo -d srnic0 2>&1)" 'transport:[[:space:]]*InfiniBand'
	mv $lib /tmp/
	like "without the provider: a warning that names it" \
		"$(ibv_devinfo 2>&1)" "Warning: couldn't load driver 'libsrnic-rdmav34.so': .*No such file"
	mv /etc/libibverbs.d/srnic.driver /tmp/
	like "without a word of it: a warning that names the device" \
		"$(IBV_SHOW_WARNINGS=1 ibv_devinfo 2>&1)" 'Warning: no userspace device-specific driver found for srnic0'
	mv /tmp/srnic.driver /etc/libibverbs.d/
	mv /tmp/libsrnic-rdmav34.so $lib
fi
done_testing
