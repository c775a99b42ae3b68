# The errands, by name. Meson does the building, under build/; each target installs the Debian packages
# it needs first (as root; otherwise it prints the command).
demo: build
	build/leasehold demo
build:
	tools/install-packages build
	tools/build release
test:
	tools/install-packages build test bench
	tools/build release tests
	tools/run-tests $(T)
lint:
	tools/install-packages build test
	tools/lint
prove:
	tools/install-packages build test
	tools/prove
check-all: build
	tools/check-all build/check-all.json --spill build
bench:
	tools/install-packages build bench
	tools/build bench
	bench/run
soak: build
	build/leasehold sim --seeds $(or $(FROM),1).. --duration 1h
fuzz:
	tools/install-packages build test
	tools/build fuzz
	tools/fuzz $(T)
install: build
	tools/build install
uninstall:
	tools/build uninstall
clean:
	rm -rf build
.PHONY: demo build test lint prove check-all bench soak fuzz install uninstall clean
