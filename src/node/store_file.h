// The file of a data directory: key/value pairs in LMDB, sealed by a digest of all of them.
//
// What must stay true: DIR/data.mdb is there whole or not at all (it is made under another name and
// renamed), and what is read is exactly what was last committed, or an error. LMDB has no checksums
// of its own, so each commit also stores its number, the count and the sum of hashes of all pairs; a
// flipped, lost or stale page shows at open. What does not is the last commit's meta page if it was
// not written at all, or reads as that of the commit before. So whatever is written is committed
// twice: the commit before has the same pairs.
//
// One process and one writer at a time, which the lock of store.h ensures; LMDB's own lock file is
// not used.
#ifndef LH_NODE_STORE_FILE_H
#define LH_NODE_STORE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <lmdb.h>

#include "base/slice.h"
#include "os/error.h"

enum {
    LH_STORE_KEY_MAX = 16,
    LH_STORE_VALUE_MAX = 512,
    LH_STORE_RECORD_MAX = 4 + LH_STORE_KEY_MAX + LH_STORE_VALUE_MAX,
    LH_STORE_MAP_MIB = 64,
};

// A key of 1..16 bytes with its value of up to 512.
struct lh_store_pair {
    struct lh_slice key;
    struct lh_slice value;
    bool erased; // when writing: the key is to be removed, and `value` is not looked at
};

typedef void lh_store_each_fn(void *context, const struct lh_store_pair *pair);

struct lh_store_file {
    char directory[256];
    MDB_env *env; // NULL between a fatal fault and the next commit, which opens it again
    MDB_dbi pairs;
};

// Opens DIR/data.mdb, or makes an empty one. An existing one is first read by a child process,
// since LMDB follows a damaged page to wherever it points. The error names the directory and the
// remedy.
bool lh_store_file_open(const char *directory, struct lh_store_file *ret_file,
                        struct lh_error *error);

// The same of a copy of that file at `path`, which is there; errors name the directory.
bool lh_store_file_open_copy(const char *directory, const char *path,
                             struct lh_store_file *ret_file, struct lh_error *error);
void lh_store_file_close(struct lh_store_file *file);

// Calls `each` for every pair, in the order of keys. The slices are valid during the call only.
bool lh_store_file_each(struct lh_store_file *file, lh_store_each_fn *each, void *context,
                        struct lh_error *error);

// One pair as lh_store_file_commit takes it, written to `out`, which has room for
// LH_STORE_RECORD_MAX bytes. Returns its size.
size_t lh_store_record(uint8_t *out, const struct lh_store_pair *pair);

// Applies records in their order, durably, all or nothing. Returns 0, or what LMDB said: an errno or
// an MDB_ code for lh_store_file_explain. May be called again with the same records.
int lh_store_file_commit(struct lh_store_file *file, const uint8_t *records, size_t size);

// Says in words what `code` means for this directory, and what to do. Returns false.
bool lh_store_file_explain(const char *directory, int code, struct lh_error *error);

#endif
