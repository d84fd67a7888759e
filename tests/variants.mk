# The same sources, built in other ways: for fuzzing, for mutants, for valgrind, with counters of coverage.
.PHONY: fuzz fuzz-programs mutants mutants-programs valgrind coverage

FUZZ_SAN := -fno-sanitize-recover=all -fsanitize=address,undefined
QUICK_CC = $(CC) $(STD) -O0 -g1 -fPIC -w $(PKG_CFLAGS)
MUTANT_CC = $(QUICK_CC) $(TESTED)

# $(call objects,FOLDER,COMPILER AND FLAGS): objects of the whole tree, below $B/FOLDER.
define objects
$B/$1/%.o: %.c
	@mkdir -p $$(@D)
	$$(call SAY,CC)$2 -MMD -MP -c -o $$@ $$<
-include $$(wildcard $B/$1/*/*/*.d $B/$1/*/*/*/*.d $B/$1/*/*/*/*/*.d)
endef
$(eval $(call objects,fuzz/obj,$$(CCACHE) $$(CLANG) $$(STD) -O1 -g $(FUZZ_SAN)$(comma)fuzzer-no-link $$(PKG_CFLAGS)))
$(eval $(call objects,quick,$$(CCACHE) $$(QUICK_CC)))
$(eval $(call objects,mutants/obj,$$(CCACHE) $$(MUTANT_CC)))
$(eval $(call objects,coverage/obj,$$(CC) $$(STD) -O0 -g --coverage $$(PKG_CFLAGS)))

# What the engine is in, built without it: a demo that renders nothing does not wait for cargo.
ENGINE_USERS := src/template/engine_values.c $(MAIN)
$(eval $(call objects,demo,$$(CCACHE) $$(QUICK_CC) -DWITHOUT_TEMPLATES))
$B/demo/haproxy-k8s-sync: $(patsubst %.c,$B/quick/%.o,$(filter-out $(ENGINE_USERS),$(SRC))) $(ENGINE_USERS:%.c=$B/demo/%.o)
	$(call SAY,LD)$(CC) -o $@ $^ $(PKG_LIBS)

# Without optimisation, for what has to be there soon: the demos, mutants, memcheck.
$B/quick/haproxy-k8s-sync: $(SRC:%.c=$B/quick/%.o) $B/quick/$(MAIN:%.c=%.o) $(ENGINE_QUICK)
	$(call SAY,LD)$(CC) -o $@ $^ $(PKG_LIBS)

$B/fuzz/libsrc.a: $(SRC:%.c=$B/fuzz/obj/%.o)
$B/coverage/libsrc.a: $(SRC:%.c=$B/coverage/obj/%.o)
$B/fuzz/libsrc.a $B/coverage/libsrc.a:
	@rm -f $@
	$(call SAY,AR)ar rcs $@ $^

# ---- fuzz: as many side by side as there are cores, for each keeps one busy. RUNS=n: so many of each by a fixed seed, instead of TIME

$B/fuzz/fuzz_%: $B/fuzz/obj/tests/fuzz/fuzz_%.o $B/fuzz/libsrc.a $(ENGINE_QUICK)
	$(call SAY,LD)$(CLANG) $(FUZZ_SAN),fuzzer -o $@ $^ $(PKG_LIBS)

fuzz-programs:
	@$(MAKE) --no-print-directory $(PARALLEL) $(FUZZ:%=$B/fuzz/%)

fuzz:
	@scripts/deps build check
	@$(MAKE) --no-print-directory fuzz-programs
	@printf '%s\n' $(FUZZ:fuzz_%=%) | xargs -P $(CORES) -I '{}' tests/fuzz/run $B '{}' $(if $(RUNS),runs=$(RUNS),time=$(TIME))

# ---- mutants: breaks what decides, one line at a time: the tests of its room must notice each. K=word: only some of them;
# SHARE=2/3: the second of three shares
SHARE ?= 1/1

# What of the sources is another one in tests, and the rest of the quick build.
TESTED_SRC := src/servers/decide.c src/haproxy/instance_read.c
$B/mutants/libsrc.so: $(TESTED_SRC:%.c=$B/mutants/obj/%.o) $(patsubst %.c,$B/quick/%.o,$(filter-out $(TESTED_SRC),$(SRC))) $(ENGINE_QUICK)
	$(call SAY,LD)$(CC) -shared -o $@ $^ $(PKG_LIBS)
MUTANTS_LD = $(CC) -o $@ $(filter %.o,$^) -L$B/mutants -lsrc -Wl,-rpath,'$$ORIGIN' $(PKG_LIBS)

$B/mutants/test_%: $$(call unit_object,quick,$$*) $B/quick/tests/unit/main.o | $B/mutants/libsrc.so
	$(call SAY,LD)$(MUTANTS_LD) $(CHECK_LIBS)

$B/mutants/test_sequences: $(patsubst %.c,$B/quick/%.o,$(wildcard tests/sequences/*.c)) | $B/mutants/libsrc.so
	$(call SAY,LD)$(MUTANTS_LD)

# The daemon itself, for what is tested as a whole.
$B/mutants/haproxy-k8s-sync: $B/quick/$(MAIN:%.c=%.o) | $B/mutants/libsrc.so
	$(call SAY,LD)$(MUTANTS_LD)

$B/mutants/test_tenants: tests/mutants/test_tenants $B/mutants/haproxy-k8s-sync
	@cp $< $@

MUTANT_TESTS = $(addprefix $B/mutants/,$(shell $(PYTHON) -m tests.mutants --tests))
mutants-programs:
	@$(MAKE) --no-print-directory -s $(PARALLEL) $(MUTANT_TESTS)

mutants: deps-test
	@$(MAKE) --no-print-directory mutants-programs
	@$(PYTHON) -m tests.mutants -k "$(K)" --share "$(SHARE)" $B/mutants -- $(MUTANT_CC)

# ---- valgrind: without sanitizers, which do the same in another way. T=name: only these unit tests

# Where each kind of trouble comes by at least once; all of them take too long under memcheck. Signals at the start meet
# memcheck's own start, not ours.
VALGRIND_TESTS ?= backend bad_answers endings services tls trust watch_faults
# By name (T=desired_random) or not at all: the random ones take minutes each; memcheck dies of an execve that fails and of
# clone (child, sandbox), starts programs too slowly for their deadlines (exec_plugin*), and has file descriptors of its own, which
# are counted or meant to run out (metrics, server_fds).
T ?= $(filter-out %_random child exec_plugin% metrics sandbox server_fds,$(UNIT:$B/unit/test_%=%))

# Stands in for the daemon: what memcheck finds stands in a test's log of it, and ends it with another status than 0.
$B/valgrind/daemon: $B/quick/haproxy-k8s-sync
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec %s %s "$$@"\n' $(abspath tests/valgrind/options) $(abspath $<) >$@ && chmod +x $@

valgrind:
	@scripts/deps build test check
	@$(MAKE) --no-print-directory $(PARALLEL) $(T:%=$B/mutants/test_%) $B/valgrind/daemon
	@tests/valgrind/unit $(CORES) $(T:%=$B/mutants/test_%)
	@HAPROXY_K8S_SYNC=$(abspath $B)/valgrind/daemon $(PYTHON) -m pytest -q -rs -n $(CORES) -p no:cacheprovider \
		--deselect tests/functional/test_endings.py::test_signals_while_starting_do_no_harm $(VALGRIND_TESTS:%=tests/functional/test_%.py)

# ---- coverage: what of the sources the unit tests, the fuzz corpora and the functional tests run; UNIT_ONLY=1: without the last

$B/coverage/test_%: $$(call unit_object,coverage/obj,$$*) $B/coverage/obj/tests/unit/main.o $B/coverage/libsrc.a $(ENGINE)
	$(call SAY,LD)$(CC) --coverage -o $@ $^ $(PKG_LIBS) $$(pkg-config --libs check)

$B/coverage/fuzz_%: $B/coverage/obj/tests/fuzz/fuzz_%.o $B/coverage/obj/tests/fuzz/replay.o $B/coverage/libsrc.a $(ENGINE)
	$(call SAY,LD)$(CC) --coverage -o $@ $^ $(PKG_LIBS)

$B/coverage/haproxy-k8s-sync: $B/coverage/obj/$(MAIN:%.c=%.o) $B/coverage/libsrc.a $(ENGINE)
	$(call SAY,LD)$(CC) --coverage -o $@ $^ $(PKG_LIBS)

coverage:
	@scripts/deps build test check
	@$(MAKE) --no-print-directory $(PARALLEL) $B/coverage/haproxy-k8s-sync $(UNIT:$B/unit/%=$B/coverage/%) $(FUZZ:%=$B/coverage/%)
	@find $B/coverage -name '*.gcda' -delete
	@tests/unit/run $(UNIT:$B/unit/%=$B/coverage/%) | tail -n 1
	@for t in $(FUZZ:fuzz_%=%); do $B/coverage/fuzz_$$t tests/fuzz/corpus/$$t >/dev/null || exit 1; done
	@$(if $(UNIT_ONLY),,HAPROXY_K8S_SYNC=$(abspath $B)/coverage/haproxy-k8s-sync \
		$(PYTHON) -m pytest -q -n $(JOBS) -p no:cacheprovider tests/functional \
		--deselect tests/functional/test_sandbox.py::test_no_call_is_refused_on_the_way | tail -n 3)
	@gcovr -j $(CORES) --root . --object-directory $B/coverage/obj --filter src/ --filter cmd/ $B/coverage/obj/src $B/coverage/obj/cmd \
		--html-details $B/coverage/index.html --txt $B/coverage/coverage.txt --json-summary $B/coverage/summary.json
	@sed -n 's/^TOTAL *\([0-9]*\) *\([0-9]*\) *\([0-9]*%\).*/coverage: \3 of the lines (\2 of \1), $(subst /,\/,$B)\/coverage\/index.html/p' \
		$B/coverage/coverage.txt
