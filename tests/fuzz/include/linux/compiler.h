/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FUZZ_LINUX_COMPILER_H
#define FUZZ_LINUX_COMPILER_H

#define READ_ONCE(x)	(*(const volatile __typeof__(x) *)&(x))

#endif /* FUZZ_LINUX_COMPILER_H */
