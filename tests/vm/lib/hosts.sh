# SPDX-License-Identifier: GPL-2.0
# Two hosts, one script.
#
#   from_a                 the rest of the script runs on host a only; b waits
#   on_b CMD...            run on b (as bash -c "CMD..."), with its output and
#   on_a CMD...            its exit status; ends with its caller
#   both CMD...            on a and on b, at the same time
#   bg CMD...              in the background on this host; $! as usual
#   wait_for SECS CMD...   until CMD succeeds; fails after SECS
#   wait_listen PORT       until somebody listens on a TCP port of this host
#   monitor COMMAND...     for this host's QEMU, such as: device_del bar0
#   cut_power              this host's QEMU is killed (SIGKILL)
#
# Commands go over eth1 (10.78.0.0/24), which stays quiet and without loss
# whatever a test does to eth0. They have the functions of this library.
# shellcheck shell=bash
CONTROL_A=10.78.0.1
CONTROL_B=10.78.0.2

from_a()
{
	[ "$HOST" != a ] || return 0
	echo passive >"$VM_CTL"
	while :; do
		sleep 1000
	done
}

# _remote ADDRESS COMMAND
_remote()
{
	local line held='' first=1 fd

	# the other host may still be booting, on a machine with much else to do
	wait_for 120 _connect "$1" || {
		echo "no agent at $1" >&2
		return 255
	}
	fd=$_remote_fd
	printf '%s\0' "$2" >&"$fd"
	# One line is held back: the agent puts a newline of its own between
	# the command's output and the line with the status.
	while IFS= read -r line <&"$fd"; do
		if [ "${line:0:6}" = $'\001exit ' ]; then
			[ -z "$held" ] || printf '%s\n' "$held"
			exec {fd}>&-
			return "${line:6}"
		fi
		[ -n "$first" ] || printf '%s\n' "$held"
		first='' held=$line
	done
	exec {fd}>&-
	[ -n "$first" ] || printf '%s\n' "$held"
	echo "the agent at $1 went away" >&2
	return 255
}

_connect()
{
	{ exec {_remote_fd}<>"/dev/tcp/$1/7777"; } 2>/dev/null
}

on_a() { _remote $CONTROL_A "$*"; }
on_b() { _remote $CONTROL_B "$*"; }

both()
{
	local other status=0

	on_b "$@" &
	other=$!
	on_a "$@" || status=$?
	wait "$other" || status=$?
	return $status
}

bg() { "$@" & }

wait_for()
{
	local end=$((EPOCHSECONDS + $1))

	shift
	until "$@"; do
		[ $EPOCHSECONDS -lt $end ] || return 1
		_nap
	done
}

# A tenth of a second: "sleep" would be a process, which costs as much again. Nobody
# ever writes into that fifo (initramfs-init). Nothing here may change the caller's $!.
_nap()
{
	[ -n "$_nap_fd" ] || exec {_nap_fd}<>/run/silence
	read -r -t 0.1 -u "$_nap_fd"
	return 0
}
_nap_fd=''

_listens()
{
	grep -qiE "^ *[0-9]+: [0-9A-F]+:$(printf %04X "$1") [0-9A-F:]+ 0A" \
		/proc/net/tcp /proc/net/tcp6 2>/dev/null
}

wait_listen() { wait_for "${2:-20}" _listens "$1"; }

monitor() { echo "monitor $*" >"$VM_CTL"; }

cut_power() { echo kill >"$VM_CTL"; }
