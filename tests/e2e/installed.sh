# What the tests of the installed library share: install_tree puts it below $dir/root and makes pkg-config and
# the loader find it there. To be sourced after lib.sh.
#
# shellcheck shell=bash
install_tree() {
    local pc
    (cd "$root" && DESTDIR=$dir/root meson install -C build --no-rebuild --quiet) >"$dir/install.log" 2>&1
    pc=$(find "$dir/root" -name leasehold.pc)
    export PKG_CONFIG_PATH=${pc%/*} PKG_CONFIG_SYSROOT_DIR=$dir/root
    LD_LIBRARY_PATH=${pc%/pkgconfig/*}
    export LD_LIBRARY_PATH
}
