#!/bin/bash
# What `make install` leaves for programs: headers that stand alone in C and C++, a shared and a static library
# that export what the headers mark and nothing else, a pkg-config file that says how to link either.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/installed.sh"
headers=$(cd "$root/include" && echo leasehold/*.h)
# shellcheck disable=SC2086 # a list
set -- $headers
plan $((3 * $# + 11))
install_tree
library=$LD_LIBRARY_PATH/libleasehold
include=$dir/root/usr/local/include

# alone COMPILER FLAGS HEADER: it is all that the header needs, and twice is once.
alone() {
    printf '#include <%s>\n#include <%s>\nint main(void) { return 0; }\n' "$3" "$3" >"$dir/alone.c"
    # shellcheck disable=SC2086
    $1 $2 -Wall -Wextra -Wpedantic -Werror -I"$include" "$dir/alone.c" -o "$dir/alone" >"$dir/alone.log" 2>&1
}
cxx=$(command -v g++ || command -v clang++) || cxx=
for header; do
    check "<$header> alone, C99" alone "${CC:-cc}" -std=c99 "$header"
    check "<$header> alone, C17" alone "${CC:-cc}" -std=c17 "$header"
    # Only what the header itself says, without the C++ library: -fsyntax-only works without one installed.
    if [ -n "$cxx" ]; then
        check "<$header> alone, C++" alone "$cxx -x c++ -fsyntax-only" -std=c++11 "$header"
    else
        skip "<$header> alone, C++" 'no C++ compiler'
    fi
done

marked() {
    awk '/^LH_API/ { text = "" ; taking = 1 } taking { text = text " " $0 } taking && /;/ { print text; taking = 0 }' \
        "$root"/include/leasehold/*.h | sed 's/(.*//; s/.*[ *]//' | sort
}
exported() { nm -D --defined-only "$library.so" | awk '{ print $3 }' | sort; }
check 'the shared library exports what the headers mark, and nothing else' [ "$(marked)" = "$(exported)" ]
check 'which is something' [ "$(marked | wc -l)" -gt 30 ]
foreign() { nm -g --defined-only "$library.a" 2>/dev/null | awk 'NF == 3 && $3 !~ /^lh_/ { print $3 }'; }
check 'the static library defines only names that begin with lh_' [ -z "$(foreign)" ]
check 'the shared library has its version in its name' [ "$(readlink "$library.so.0")" = "libleasehold.so.$(pkg-config --modversion leasehold)" ]
needs() { readelf -d "$library.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -v '^libc\.so' | grep -v ld-linux; }
check 'it needs nothing but the C library' [ -z "$(needs)" ]

cat >"$dir/user.c" <<'END'
#include <leasehold/client.h>
#include <leasehold/core.h>
#include <leasehold/fence.h>
#include <stdio.h>
int main(void)
{
    int64_t word = 41;
    struct lh_client *client;
    char why[200] = "";
    enum lh_return result = lh_client_open("nowhere", &client, why, sizeof why);
    printf("%s %d %d %s\n", lh_library_version(), lh_fence_word_admit(&word, 40), (int)result, why);
    return 0;
}
END
links() {
    # shellcheck disable=SC2046,SC2086 # words
    ${CC:-cc} -std=c99 "$dir/user.c" $(pkg-config --cflags leasehold) $1 -o "$dir/user" >"$dir/links.log" 2>&1
}
says() { [[ "$("$dir/user")" = "$(pkg-config --modversion leasehold) 0 2 endpoint 'nowhere' has no port"* ]]; }
check 'a program links to the shared library' links "$(pkg-config --libs leasehold)"
check 'and runs' says
check 'and to the static one' links "$library.a"
check 'and runs' says

# --- make uninstall ---
installed=$(find "$dir/root" ! -type d | wc -l)
touch "$dir/root/usr/local/bin/another"
check 'completion for three shells is installed' eval '
    cd "$dir/root/usr/local/share" && [ -e bash-completion/completions/leasehold ] && [ -e zsh/site-functions/_leasehold ] &&
        [ -e fish/vendor_completions.d/leasehold.fish ]'
check 'make uninstall removes what was installed, and nothing else' eval '
    [ "$installed" -gt 15 ] && DESTDIR=$dir/root "$root/tools/build" uninstall >"$dir/uninstall.log" &&
        [ "$(find "$dir/root" ! -type d)" = "$dir/root/usr/local/bin/another" ] && ! [ -e "$include/leasehold" ]'
