/* SPDX-License-Identifier: GPL-2.0 */
/* What the fuzzed files use of the kernel's header, in user space. */
#ifndef FUZZ_LINUX_TYPES_H
#define FUZZ_LINUX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include_next <linux/types.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;

#define __aligned(n)	__attribute__((aligned(n)))
#define __percpu

#endif /* FUZZ_LINUX_TYPES_H */
