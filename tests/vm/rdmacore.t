#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# rdma-core's own tests, from the source that the provider is built in.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
source=$("$top/scripts/build-provider" --chroot)/root/build/rdma-core
disk=$(mktemp)
trap 'rm -f "$disk"' EXIT
tar -C "$source" -cf "$disk" tests
"$top/scripts/vm" run --tap --quiet --hosts 1 --timeout 400 --disk "$disk" "$@" \
	"$top/tests/vm/guest/rdmacore.sh"
