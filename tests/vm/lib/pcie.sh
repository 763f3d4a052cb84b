# SPDX-License-Identifier: GPL-2.0
# Donors.
#
#   donor_bdf KIND [N]     the PCI address of the N-th (default 0) bar, pmr
#                          (any nvme: cmb, both as well), testdev or edu
#   bind_to DRIVER BDF     bind a PCI function to a driver by driver_override
#   donate_bar [N]         p2pmem and p2pmem_bar loaded, the N-th bar bound;
#                          prints the /dev/p2pmem* that appeared
#   donate_nvme N KIND     the same with p2pmem_nvme and the N-th nvme; prints its
#                          /dev/p2pmem* of that kind (pmr, cmb)
# shellcheck shell=bash

donor_bdf()
{
	local id

	case $1 in
	bar)		id=1af4:1110 ;;
	pmr|cmb|nvme)	id=1b36:0010 ;;
	testdev)	id=1b36:0005 ;;
	edu)		id=1234:11e8 ;;
	*)		return 1 ;;
	esac
	lspci -Dn -d "$id" | awk -v n="${2:-0}" 'NR == n + 1 { print $1; found = 1 }
		END { exit !found }'
}

bind_to()
{
	local dev=/sys/bus/pci/devices/$2

	[ ! -e "$dev/driver" ] || echo "$2" >"$dev/driver/unbind"
	echo "$1" >"$dev/driver_override" &&
		echo "$2" >"/sys/bus/pci/drivers/$1/bind"
}

donate_bar()
{
	local bdf before

	modprobe p2pmem && modprobe p2pmem_bar && bdf=$(donor_bdf bar "${1:-0}") || return
	before=$(ls /dev/p2pmem* 2>/dev/null)
	bind_to p2pmem_bar "$bdf" || return
	wait_for 5 _new_p2pmem "$before"
}

_new_p2pmem()
{
	# shellcheck disable=SC2010,SC2012 # names of our own making
	ls /dev/p2pmem* 2>/dev/null | grep -vxF "${1:-none}" | head -n 1 | grep .
}

donate_nvme()
{
	local bdf i

	modprobe p2pmem_nvme && bdf=$(donor_bdf nvme "$1") && bind_to p2pmem_nvme "$bdf" || return
	for i in /sys/class/p2pmem/*; do
		[ "$(realpath "$i/device")" = "$(realpath "/sys/bus/pci/devices/$bdf")" ] &&
			[ "$(cat "$i/kind")" = "$2" ] && echo "/dev/${i##*/}" && return
	done
	return 1
}
