/* SPDX-License-Identifier: GPL-2.0 */
/*
 * JSON on standard output. Each value takes its name, or NULL in an array.
 */
#ifndef P2PMEM_JSON_H
#define P2PMEM_JSON_H

#include <stdbool.h>
#include <stdint.h>

void json_object(const char *name);
void json_array(const char *name);
void json_end(void);
void json_string(const char *name, const char *value);	/* NULL: null */
void json_number(const char *name, uint64_t value);
void json_signed(const char *name, int64_t value);
void json_bool(const char *name, bool value);
void json_attribute(const char *name, const char *value);

#endif /* P2PMEM_JSON_H */
