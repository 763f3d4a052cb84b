#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# In the guest: rdma-core's tests come as a tar on the first extra disk.
. /srnic/tests/vm/lib/lib.sh
type=${TYPE:-srnic}
rdma_up "$type" || bail "no $type link"
modprobe rdma_ucm
mkdir /tmp/rdma-core
tar -C /tmp/rdma-core -xf /dev/vdc || bail "no tests"
index=$(gid_index "${type}0" "$MY_IP") || bail "no GID for $MY_IP"
exec python3 /srnic/tests/vm/guest/rdmacore.py /tmp/rdma-core "${type}0" "$index" \
	"/srnic/tests/vm/rdmacore.expected"
