# SPDX-License-Identifier: GPL-2.0
# What test scripts in a guest source: . /srnic/tests/vm/lib/lib.sh
# shellcheck shell=bash
lib=/srnic/tests/vm/lib
# The agent sets it, so that its commands have these functions too; what they
# start shall not.
unset BASH_ENV
# shellcheck source=tests/vm/lib/tap.sh
. $lib/tap.sh
# shellcheck source=tests/vm/lib/hosts.sh
. $lib/hosts.sh
# shellcheck source=tests/vm/lib/rdma.sh
. $lib/rdma.sh
# shellcheck source=tests/vm/lib/pcie.sh
. $lib/pcie.sh
# shellcheck source=tests/vm/lib/leaks.sh
. $lib/leaks.sh
