#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# cpus: 2
exec "$(dirname "$0")/../scripts/kunit" debug
