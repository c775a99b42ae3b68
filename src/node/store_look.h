// A look into the file of a data directory that a daemon may be using at that moment: nothing is
// locked or written there. What is read is a copy, taken when the file stood still.
#ifndef LH_NODE_STORE_LOOK_H
#define LH_NODE_STORE_LOOK_H

#include "node/store_file.h"

enum lh_store_look {
    LH_STORE_LOOK_NEW,     // there is no file: a start makes it
    LH_STORE_LOOK_READ,    // `each` was called for every pair
    LH_STORE_LOOK_REFUSED, // a start would be refused; `ret_reason` says why
    LH_STORE_LOOK_UNSEEN,  // it could not be copied; `ret_reason` says why
};

enum lh_store_look lh_store_look(const char *directory, lh_store_each_fn *each, void *context,
                                 struct lh_error *ret_reason);

#endif
