# SPDX-License-Identifier: GPL-2.0
# What link.t and link_end.t share.
# shellcheck shell=bash

add() { rdma link add "$1" type srnic netdev "$2"; }
del() { rdma link del "$1"; }
exists() { [ -e "/sys/class/infiniband/$1" ]; }
gone() { wait_for 20 eval "! [ -e /sys/class/infiniband/$1 ]"; }
read_attr() { cat "/sys/class/infiniband/$1"; }
# ss prints what is bound, in this or in another namespace
listening() { ss -Hulna | grep -c ':4791 '; }
no_lines() { [ "$(listening)" = 0 ]; }
# is there a GID, soon?
gid() { wait_for 10 gid_index "${2:-srnic0}" "$1" >/dev/null; }
no_gid() { wait_for 10 eval "! gid_index srnic0 $1"; }
