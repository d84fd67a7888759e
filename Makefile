# make            the daemon: build/haproxy-k8s-sync
# make demo       see it work in half a minute (KEEP=1: leave it running; TARGET=local: without a Data Plane API)
# make demo-config  the same for a whole haproxy.cfg from a file: edited, applied, refused with its line, under traffic (KEEP=1)
# make demo-services  annotated Services on two HAProxies: served, a typing error with its Event, repaired (KEEP=1)
# make demo-ingress  Ingresses by the shipped template set: applied, routed, a mistake refused with its line, a rollout (KEEP=1)
# make test       unit tests (sanitizers on), fuzz corpora, streams of events, conformance and functional tests
# make selftest   tests of the harness, the doubles, the benches and CI's own scripts; make test runs them, too, after any of these changed
# make e2e        real etcd, kube-apiserver, HAProxy (needs Go)    make check   layers, format, linters
# make e2e-full   conformance and e2e on each real Data Plane API with each HAProxy  DATAPLANEAPIS="path path" HAPROXYS="path path"
# make delivery   chart, manifests, image, package, docs, status page in a browser (needs Go)
# make manifests  deploy/*.yaml anew from the chart (needs Go)
# make bench      figures (OTHER=path: another controller, too)    make fuzz    TIME=60 seconds for each target
# make soak       TIME=30m of changes and troubles: memory, fds, latency over time, build/soak/soak.html
# make chaos      parts x faults under a seeded stream of changes, a fixed list unless  SEED= ONLY=part:fault KIND= ROUNDS= TIME=seconds
# make explore    TIME=600 seconds of new seeds for all that plays by chance; CI plays fixed ones
# make sequences  random streams of events against a model of HAProxy, in virtual time  SEED= COUNT= EVENTS= TIME=seconds LOCAL=1 CLUSTERS=1 WHOLE=1 API=1 PLAY=case
# make mutants    breaks what decides in 2,500 ways: do the unit tests notice each?      K=WORD: some of them
# make valgrind   unit tests under memcheck                        make coverage   build/coverage/index.html
# make install    PREFIX=/usr/local DESTDIR=    make uninstall     make clean
# make deb        the Debian package            make image, sbom, rootfs, dist: see scripts/packaging.mk
MAKEFLAGS += --no-builtin-rules
VERSION := 1.0.0
PREFIX ?= /usr/local
PYTHON ?= /usr/bin/python3
CC ?= cc
CLANG ?= clang
TIME ?= 60
# Test processes side by side: they mostly wait, so more than there are cores.
JOBS ?= 12
CORES ?= $(shell nproc)
# For what compiles in a make of its own, unless this one was given a -j.
PARALLEL = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(CORES))
B := build
# What was compiled before is not compiled again, in another tree neither: no flag of tests has the tree's path in it.
CCACHE := $(if $(filter no,$(CACHE)),,$(shell command -v ccache))
export CCACHE_NOHASHDIR := 1
# Each of many test processes would compile the tests again.
export PYTHONPYCACHEPREFIX := $(CURDIR)/$B/pycache
export PYTHONDONTWRITEBYTECODE :=

PACKAGES := libcurl openssl libevent_core libevent_extra libseccomp yaml-0.1 yyjson
WARN := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef -Wformat=2 \
	-Wpointer-arith -Wwrite-strings
CFLAGS ?= -O2 -g
# What depends on the compiler is asked for once, and only where something is compiled: `make deps` must work before any of
# it is installed.
once = $(eval $1 := $(shell $2))$($1)
# scripts/check-hardening looks at what came of these.
CET = $(call once,CET,case $$($(CC) -dumpmachine) in (x86_64-*|i?86-*) echo -fcf-protection=full ;; \
	(aarch64-*) echo -mbranch-protection=standard ;; esac)
FORTIFY = $(call once,FORTIFY,for n in 3 2; do printf '\043include <features.h>\n' | $(CC) -O2 -Werror -U_FORTIFY_SOURCE \
	-D_FORTIFY_SOURCE=$$n -E - >/dev/null 2>&1 && echo -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$$n && break; done)
# Where the sources lay does not show in what was built of them: the same sources give the same bytes.
HERE = -ffile-prefix-map=$(CURDIR)=.
HARDEN = $(HERE) -fPIE -fstack-protector-strong -fstack-clash-protection $(FORTIFY) $(CET) -ffunction-sections -fdata-sections $(NO_UNWIND)
# Nothing unwinds the stack of C: an eighth of the program would be tables for that. A debugger has its own in the debugging information.
NO_UNWIND := -fno-asynchronous-unwind-tables -fno-unwind-tables
# What runs for each object, server or line is made quick; the rooms of these, which run once, or for a person, small.
SMALL := $(addprefix $B/obj/,cmd/% src/cli/% src/configuration/% src/daemon/% src/etcd/% src/report/% src/serve/% src/services/% src/settings/%)
# The note for a shadow stack holds for the C library's start files, too; that for landing pads is the linker's to decide.
HARDEN_LD = -pie -Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code,-z,text,-z,pack-relative-relocs,--gc-sections,--as-needed \
	-Wl,--export-dynamic-symbol=_gnutls_global_init_skip \
	$(if $(findstring cf-protection,$(CET)),-Wl$(comma)-z$(comma)shstk)
comma := ,
# Of UBSan without the two checks that cost most to compile and find what ASan finds: the fuzz targets have all of it. Sources are
# optimised, as they run for minutes; tests are not, as compiling them takes longer than running them.
SAN := -g1 -fsanitize=address,undefined -fno-sanitize=null,object-size -fno-sanitize-recover=all -fno-omit-frame-pointer
TESTED := -DSERVERS_CHECK_STANDING -DMANY_BACKENDS=2
CHECK_LIBS = $(call once,CHECK_LIBS,pkg-config --libs check)
STD := -std=gnu11 -D_GNU_SOURCE -Isrc -DPROJECT_VERSION='"$(VERSION)"'
PKG_CFLAGS = $(call once,PKG_CFLAGS,pkg-config --cflags $(PACKAGES))
PKG_LIBS = $(call once,PKG_LIBS,pkg-config --libs $(PACKAGES)$(if $(ENGINE), && echo -lgcc_s -lm))

# The template engine (src/template/Cargo.toml), where there is a cargo that is new enough; TEMPLATES=no: without it, and who asks
# for one is told so.
ifeq ($(origin TEMPLATES),undefined)
TEMPLATES := $(shell cargo --version 2>/dev/null | awk -F '[ .]' '{ yes = $$2 > 1 || $$3 >= 70 } END { print yes ? "yes" : "no" }')
endif
ENGINE := $(if $(filter-out no,$(TEMPLATES)),$B/cargo/release/libtemplate.a)
# The same, built in a third of the time: for tests and the demos.
ENGINE_QUICK := $(if $(ENGINE),$B/cargo/quick/libtemplate.a)
# The crates' sources have one name in the program, wherever cargo has them: in vendor/, or below the name of its registry.
HERE_RUST = --remap-path-prefix=$(CURDIR)=. --remap-path-prefix=$(CURDIR)/vendor=crates \
	$$(printf -- ' --remap-path-prefix=%s=crates' $(or $(CARGO_HOME),$(HOME)/.cargo)/registry/src/*)
ENGINE_SRC := src/template/Cargo.toml src/template/Cargo.lock $(sort $(wildcard src/template/src/*.rs))
STD += $(if $(ENGINE),,-DWITHOUT_TEMPLATES)

SRC := $(sort $(wildcard src/*/*.c src/*/*/*.c))
HDR := $(sort $(wildcard src/*/*.h src/*/*/*.h))
MAIN := cmd/haproxy-k8s-sync/main.c
OBJ := $(SRC:%.c=$B/obj/%.o) $(MAIN:%.c=$B/obj/%.o)
SAN_OBJ := $(SRC:%.c=$B/san/%.o)
UNIT_SRC := $(filter tests/unit/$(if $(ROOM),$(ROOM)/)%,$(sort $(wildcard tests/unit/*/test_*.c tests/unit/*/*/test_*.c)))
UNIT := $(addprefix $B/unit/,$(basename $(notdir $(UNIT_SRC))))
FUZZ := $(patsubst tests/fuzz/%.c,%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))

# One short line for each command; V=1 shows them whole, -s nothing.
SAY = $(if $(V)$(findstring s,$(firstword -$(MAKEFLAGS))),,@printf '  %-4s %s\n' $(1) $@;)

.PHONY: all programs help chaos explore sequences streams deps deps-test deps-check demo demo-config demo-ingress demo-services test unit replay pytest selftest e2e e2e-full delivery manifests check check-layers bench clean
.SECONDARY:

all: deps
	@$(MAKE) --no-print-directory $(PARALLEL) $B/haproxy-k8s-sync

help:
	@sed -n '/^#/!q; s/^# //p' $(firstword $(MAKEFILE_LIST))

# All that .ci/run runs, with what it needs from Debian.
TEST_PROGRAMS = $B/quick/haproxy-k8s-sync $B/san/haproxy-k8s-sync $B/sequences $B/meaning $B/decoded $(UNIT) $(FUZZ:%=$B/replay/%)
programs:
	@scripts/deps build test check e2e chaos delivery
	@$(MAKE) --no-print-directory $(PARALLEL) $B/haproxy-k8s-sync $(TEST_PROGRAMS) $(FUZZ:%=$B/fuzz/%) $(MUTANT_TESTS)

deps:
	@scripts/deps build
deps-test:
	@scripts/deps build test

$B/haproxy-k8s-sync: $(OBJ) $(ENGINE) $B/obj/flags.ld
	$(call SAY,LD)$(CC) $(CFLAGS) $(HARDEN_LD) -o $@ $(OBJ) $(ENGINE) $(PKG_LIBS) $(LDFLAGS)

$(ENGINE) $(ENGINE_QUICK): $B/cargo/%/libtemplate.a: $(ENGINE_SRC)
	$(call SAY,RUST)cargo fetch --quiet --locked --manifest-path src/template/Cargo.toml && RUSTFLAGS="$(HERE_RUST)" cargo build --quiet --locked --profile $* --manifest-path src/template/Cargo.toml --target-dir $B/cargo || \
		{ echo "the template engine was not built: cargo says why above; make TEMPLATES=no builds without" >&2; exit 1; }
	@touch $@

# What was made with other flags than today's is no use: these files are new whenever the flags are.
keep = @mkdir -p $(@D); echo '$1' | cmp -s - $@ || echo '$1' >$@
.PHONY: FORCE
$B/obj/flags: FORCE
	$(call keep,$(CC) $(STD) $(HARDEN) $(CFLAGS) small: $(SMALL))
$B/obj/flags.ld: FORCE
	$(call keep,$(CC) $(CFLAGS) $(HARDEN_LD) $(LDFLAGS))

# What `version` says; where there is no work tree of git, the tarball's own file or COMMIT= says it.
COMMIT ?= $(call once,COMMIT,if [ -e .git ]; then git rev-parse --short=12 HEAD; else cat .commit; fi 2>/dev/null)
$B/obj/commit: FORCE
	$(call keep,$(COMMIT))
$B/obj/$(MAIN:%.c=%.o): $B/obj/commit
$B/obj/$(MAIN:%.c=%.o): STD += -DPROJECT_COMMIT='"$(COMMIT)"'

$B/obj/%.o: %.c $B/obj/flags
	@mkdir -p $(@D)
	$(call SAY,CC)$(CCACHE) $(CC) $(STD) $(WARN) $(HARDEN) $(if $(filter $(SMALL),$@),$(CFLAGS:-O2=-Os),$(CFLAGS)) $(PKG_CFLAGS) -MMD -MP -c -o $@ $<

$B/san/flags: FORCE
	$(call keep,$(CC) $(STD) $(SAN) $(TESTED))
$B/san/tests/%.o: tests/%.c $B/san/flags
	@mkdir -p $(@D)
	$(call SAY,CC)$(CCACHE) $(CC) $(STD) $(WARN) $(SAN) -O0 $(PKG_CFLAGS) -MMD -MP -c -o $@ $<
$B/san/%.o: %.c $B/san/flags
	@mkdir -p $(@D)
	$(call SAY,CC)$(CCACHE) $(CC) $(STD) $(WARN) $(SAN) -O1 -fPIC $(TESTED) $(PKG_CFLAGS) -MMD -MP -c -o $@ $<

# One library that all test programs load: when a source changes, it alone is linked again.
$B/san/libsrc.so: $(SAN_OBJ) $(ENGINE_QUICK)
	$(call SAY,LD)$(CC) $(SAN) -shared -o $@ $^ $(PKG_LIBS)
SAN_LD = $(CC) $(SAN) -o $@ $(filter %.o,$^) -L$B/san -lsrc -Wl,-rpath,'$$ORIGIN/$1' $(PKG_LIBS)

# The daemon with sanitizers: what the functional tests run.
$B/san/haproxy-k8s-sync: $B/san/$(MAIN:%.c=%.o) $(SAN_OBJ) $(ENGINE_QUICK)
	$(call SAY,LD)$(CC) $(SAN) -no-pie -o $@ $^ $(PKG_LIBS)

# $(call unit_object,KIND,NAME): of test_NAME, in whichever room it is.
unit_object = $(patsubst %.c,$B/$1/%.o,$(filter %/test_$2.c,$(UNIT_SRC)))
.SECONDEXPANSION:
$B/unit/test_%: $$(call unit_object,san,$$*) $B/san/tests/unit/main.o | $B/san/libsrc.so
	@mkdir -p $(@D)
	$(call SAY,LD)$(call SAN_LD,../san) $(CHECK_LIBS)

# ROOM=haproxy, ROOM=servers/change: the tests of that room alone.
unit: $(UNIT) $B/san/libsrc.so
	@tests/unit/run $(UNIT)

# What tests/conformance/test_random_files.py asks.
$B/meaning: $B/san/tests/meaning/main.o | $B/san/libsrc.so
	$(call SAY,LD)$(call SAN_LD,san)

# What tests/conformance/test_kubernetes_encodings.py asks.
$B/decoded: $B/san/tests/decoded/main.o | $B/san/libsrc.so
	$(call SAY,LD)$(call SAN_LD,san) $(CHECK_LIBS)

# Streams of events against a model, in virtual time: tests/sequences/main.c.
$B/sequences: $(patsubst %.c,$B/san/%.o,$(wildcard tests/sequences/*.c)) | $B/san/libsrc.so
	$(call SAY,LD)$(call SAN_LD,san)

# The stored cases, and fixed seeds.
streams: $B/sequences
	@$B/sequences

# TIME: go on for so many seconds instead of COUNT streams. LOCAL: HAProxies of files and sockets. CLUSTERS: another cluster writes, too. WHOLE: their whole configurations, with API: by Data Plane APIs. PLAY: this case, and all that happens.
sequences: deps
	@$(MAKE) --no-print-directory $(PARALLEL) $B/sequences
	@$B/sequences $(if $(PLAY),--play $(PLAY) -v,--seed $(or $(SEED),1) $(if $(COUNT),--count $(COUNT)) $(if $(EVENTS),--events $(EVENTS)) $(if $(LOCAL),--local) $(if $(CLUSTERS),--clusters) $(if $(WHOLE),--whole) $(if $(API),--api) \
		$(if $(filter file,$(origin TIME)),,--time $(TIME)))

# Every fuzz target also runs over its stored corpus, without libFuzzer, in `make test`.
$B/replay/%: $B/san/tests/fuzz/%.o $B/san/tests/fuzz/replay.o | $B/san/libsrc.so
	@mkdir -p $(@D)
	$(call SAY,LD)$(call SAN_LD,../san)

replay: $(FUZZ:%=$B/replay/%)
	@for t in $(FUZZ:fuzz_%=%); do $B/replay/fuzz_$$t tests/fuzz/corpus/$$t || exit 1; done

test: deps-test
	@$(MAKE) --no-print-directory $(PARALLEL) $(TEST_PROGRAMS)
	@tests/run $(MAKE_COMMAND) --no-print-directory

# Tests of what tests, and that the doubles are as the real ones: again when anything that they test has changed since they last passed in
# this tree, or where a real one is named. Three of tests/conformance ask the sources.
SELFTESTED := Makefile scripts $(addprefix tests/,bench chaos conformance conftest.py demo doubles e2e/full harness selftest soak) \
	$(wildcard ../shared/data $(or $(HAPROXY),/usr/sbin/haproxy))
SELFTEST_DUE = $(shell find $(SELFTESTED) $(if $(wildcard $B/selftest/passed),$(if $(DATAPLANEAPI)$(KUBE_CONFORMANCE_URL)$(shell command -v dataplaneapi),,-newer $B/selftest/passed)) \
	-type f -not -name '*.pyc' -printf 'tests/conformance tests/selftest' -quit)
pytest: SUITES = $(or $(SELFTEST_DUE),$(patsubst %,tests/conformance/test_%.py,kubernetes_encodings meaning random_files)) tests/functional
selftest: $B/quick/haproxy-k8s-sync $B/san/haproxy-k8s-sync
selftest: SUITES = tests/conformance tests/selftest
pytest selftest:
	@mkdir -p $B/selftest && touch $B/selftest/began
	@$(PYTHON) -m pytest -q -rfE -n $(JOBS) -p no:cacheprovider $(SUITES)
	@$(if $(filter tests/selftest,$(SUITES)),mv $B/selftest/began $B/selftest/passed)

demo demo-config demo-services: PROGRAM := $B/demo/haproxy-k8s-sync
demo-ingress: PROGRAM := $B/quick/haproxy-k8s-sync
demo demo-config demo-ingress demo-services:
	@$(if $(filter demo-ingress,$@),,TEMPLATES=no )scripts/deps build demo
	@$(MAKE) --no-print-directory $(PARALLEL) $(PROGRAM)
	@HAPROXY_K8S_SYNC=$(PROGRAM) TARGET=$(TARGET) $(PYTHON) -m tests.demo $(if $(filter %-config,$@),--configuration)$(if $(filter %-ingress,$@),--ingress)$(if $(filter %-services,$@),--services) $(if $(KEEP),--keep)

e2e:
	@scripts/deps build test e2e
	@$(MAKE) --no-print-directory $(PARALLEL) $B/haproxy-k8s-sync $B/san/haproxy-k8s-sync $B/decoded
	@tests/e2e/run

# All that DATAPLANEAPIS and HAPROXYS name, with each other; otherwise what is on PATH. PARTS=conformance: that alone.
e2e-full:
	@scripts/deps build test e2e
	@$(MAKE) --no-print-directory $(PARALLEL) $B/haproxy-k8s-sync $B/san/haproxy-k8s-sync $B/meaning $B/decoded
	@DATAPLANEAPIS="$(DATAPLANEAPIS)" HAPROXYS="$(HAPROXYS)" tests/e2e/full $(PARTS)

delivery:
	@scripts/deps build test e2e delivery
	@$(MAKE) --no-print-directory $(PARALLEL) $B/haproxy-k8s-sync
	@$(PYTHON) -m pytest -q -rfE -n $(JOBS) -p no:cacheprovider tests/delivery

manifests:
	@scripts/deps test
	@scripts/manifests

# The mapping alone, as it is in the daemon, with many endpoints: model/ needs no library, of base/ one part does.
$B/bench/mapping: $B/obj/tests/bench/mapping.o $(patsubst %.c,$B/obj/%.o,$(filter src/base/% src/model/% src/servers/desired/%,$(SRC)))
	@mkdir -p $(@D)
	$(call SAY,LD)$(CC) $(CFLAGS) -pie -o $@ $^ $(PKG_LIBS)

# A render alone, of any template set over fixtures: python3 -m tests.bench.ingress_fixtures makes large ones for the set ingress.
$B/bench/render: $B/obj/tests/bench/render.o $(SRC:%.c=$B/obj/%.o) $(ENGINE)
	@mkdir -p $(@D)
	$(call SAY,LD)$(CC) $(CFLAGS) -pie -o $@ $^ $(PKG_LIBS)

bench:
	@scripts/deps build test e2e
	@$(MAKE) --no-print-directory $(PARALLEL) $B/haproxy-k8s-sync $B/bench/mapping $B/bench/render
	@$(PYTHON) -m tests.bench

# TIME: go on for so many seconds instead of playing each case ROUNDS times.
chaos:
	@scripts/deps build test chaos
	@$(MAKE) --no-print-directory $(PARALLEL) $B/quick/haproxy-k8s-sync $B/san/haproxy-k8s-sync
	@$(PYTHON) -m tests.chaos --build $B $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY)) $(if $(KIND),--kind $(KIND)) \
		$(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(filter file,$(origin TIME)),,--time $(TIME))

# New seeds of all of them, side by side; EXPLORE="streams fuzz": these parts alone.
explore:
	@scripts/deps build test check chaos
	@$(MAKE) --no-print-directory $(PARALLEL) $B/quick/haproxy-k8s-sync $B/san/haproxy-k8s-sync $B/sequences $(UNIT)
	@$(MAKE) --no-print-directory -s fuzz-programs mutants-programs
	@MAKE="$(MAKE_COMMAND)" tests/explore $(if $(filter file,$(origin TIME)),600,$(TIME)) "$(SEED)" $(EXPLORE)

# 30 minutes unless TIME says otherwise, on the command line or in the environment.
soak:
	@scripts/deps build test e2e
	@$(MAKE) --no-print-directory $B/haproxy-k8s-sync
	@TIME=$(if $(filter file,$(origin TIME)),30m,$(TIME)) $(PYTHON) -m tests.soak

check:
	@scripts/deps build test check
	@$(MAKE) --no-print-directory $(PARALLEL) $B/haproxy-k8s-sync
	@B=$B scripts/check

check-layers:
	@scripts/check-layers

clean:
	rm -rf $B

# The page and the completions that the assembler puts into them are no headers, so the compiler does not tell.
$(foreach kind,obj san quick fuzz/obj coverage/obj,$B/$(kind)/src/serve/server.o): src/serve/status.html
$(foreach kind,obj san quick fuzz/obj coverage/obj,$B/$(kind)/src/cli/completion.o): $(wildcard deploy/completion/*)

# What the compiler wrote beside the objects that there are; no rule makes one.
-include $(wildcard $(OBJ:.o=.d) $B/san/*/*/*.d $B/san/*/*/*/*.d $B/san/*/*/*/*/*.d $B/obj/tests/bench/*.d)
%.d: ;
include tests/variants.mk
include scripts/install.mk
include scripts/packaging.mk
