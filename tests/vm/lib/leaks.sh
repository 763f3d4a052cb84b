# SPDX-License-Identifier: GPL-2.0
# Memory that is lost, on the debug kernel.
#
#   leak_check   a test there, nothing elsewhere; when the modules are unloaded
# shellcheck shell=bash

# Nothing may be lost, of whatever kind. An object counts as lost when it is some
# seconds old and hasn't changed from one scan to the next.
no_leaks()
{
	local leaks=/sys/kernel/debug/kmemleak

	echo scan >$leaks && sleep 6 && echo scan >$leaks || return
	[ -z "$(head -c 1 $leaks)" ] || { cat $leaks; return 1; }
}

leak_check()
{
	[ -z "$KERNEL_DEBUG" ] || ok "no memory is lost" no_leaks
}
