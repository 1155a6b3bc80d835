# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Programs of the privileged suites; they run in the lab (tests/run-lab), beside each other.

PROBE      := $(BUILD)/tests/lab/probe
KERN_TESTS := $(BUILD)/tests/lab/kern-tests
NEG_TESTS  := $(BUILD)/tests/lab/neg-tests
LAB_TESTS  := $(PROBE) $(KERN_TESTS) $(NEG_TESTS)

VERBS       := $(wildcard tests/neg/verbs*.c)
VERBS_OBJ   := $(VERBS:%.c=$(BUILD)/%.o)
HARNESS_OBJ := $(BUILD)/tests/kern/harness.o

$(BUILD)/tests/kern/%.o $(BUILD)/tests/neg/%.o $(BUILD)/tests/diff/%.o: ALL_CFLAGS += -Itests

# Static and at fixed addresses, without the sanitizers: it runs where there is nothing to load, and
# reads its own constant in another process of its kind.
$(PROBE): tests/neg/probe.c $(VERBS) $(wildcard tests/neg/verbs*.h user/base/*.h)
	@mkdir -p $(@D)
	$(call say,PROBE)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) -O2 -Iuser -static -no-pie -o $@ $(filter %.c,$^)

# Sockets behind outlets are made as the agent makes them.
$(KERN_TESTS): $(call objects,tests/kern/*.c) $(BUILD)/user/daemon/outlet.o $(VERBS_OBJ) $(LIB)
$(NEG_TESTS): $(filter-out %/probe.o,$(call objects,tests/neg/*.c)) $(HARNESS_OBJ) $(LIB)
$(KERN_TESTS) $(NEG_TESTS):
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -pthread $(LIBS)

# The cases of the unit test once more, through the kernel's code: its sources in an object of their own.
DIFFERENTIAL := $(BUILD)/tests/lab/differential
CORE_SKEL    := $(BUILD)/gen/core.skel.h

$(BUILD)/tests/diff/core.bpf.o: tests/diff/core.bpf.c
	@mkdir -p $(@D)
	$(call say,BPF)
	$(Q)$(CLANG) $(BPFFLAGS) -c $< -o $@

$(CORE_SKEL): $(BUILD)/tests/diff/core.bpf.o
	@mkdir -p $(@D)
	$(call say,SKEL)
	$(Q)$(BPFTOOL) gen skeleton $< name core_bpf > $@

$(BUILD)/tests/diff/kernel.o: $(CORE_SKEL)

$(DIFFERENTIAL): $(CASES_OBJ) $(patsubst %,$(BUILD)/tests/diff/%.o,damage dentries kernel compare main) $(LIB)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

# Globs against the automaton, and what destinations are made of, by libFuzzer, which clang has; `make soak` alone
# makes and runs them.
FUZZ     := $(patsubst %,$(BUILD)/tests/fuzz/%,globs destination answer hello ask)
FUZZ_SRC := $(patsubst %,tests/diff/%.c,draw globs paths world reference answer) user/base/log.c \
	    $(patsubst %,user/policy/%.c,automaton blame dfa glob glob_check glob_match links minimise nfa nfa_share table)
$(BUILD)/tests/fuzz/globs: tests/fuzz/globs.c $(FUZZ_SRC)
$(BUILD)/tests/fuzz/destination: tests/fuzz/destination.c user/base/log.c \
	$(patsubst %,user/policy/%.c,address address_table destination listen port)
$(BUILD)/tests/fuzz/answer: tests/fuzz/answer.c user/base/log.c user/egress/answer.c user/egress/book.c \
	$(patsubst %,user/policy/%.c,address address_table destination port)
$(BUILD)/tests/fuzz/hello: tests/fuzz/hello.c user/egress/hello.c $(patsubst %,user/policy/%.c,destination port)
$(BUILD)/tests/fuzz/ask: tests/fuzz/ask.c user/egress/ask.c $(patsubst %,user/policy/%.c,destination port)
$(BUILD)/tests/fuzz/answer: FUZZ_LIBS := -lldns
$(FUZZ): $(wildcard tests/diff/*.h user/policy/*.h user/egress/*.h include/bulkhead/*.h)
	@mkdir -p $(@D)
	$(call say,FUZZ)
	$(Q)$(CLANG) -std=gnu11 -D_GNU_SOURCE $(WARN) -g -O1 -fsanitize=fuzzer$(comma)address$(comma)undefined \
		-fno-sanitize-recover=undefined -Wno-gnu-variable-sized-type-not-at-end -Iuser -Iinclude -Itests \
		-o $@ $(filter %.c,$^) $(FUZZ_LIBS)

.PHONY: fuzz
fuzz: $(FUZZ)

# What providers of tests/systemd run; static, because one of them proves what its first open is.
SYSTEMD_HELPERS := $(patsubst tests/systemd/%.c,$(BUILD)/tests/systemd/helpers/%,$(wildcard tests/systemd/*.c))
$(SYSTEMD_HELPERS): $(BUILD)/tests/systemd/helpers/%: tests/systemd/%.c
	@mkdir -p $(@D)
	$(call say,HELPER)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) -O2 -static -o $@ $<

.PHONY: systemd-helpers
systemd-helpers: $(SYSTEMD_HELPERS)

tests: $(UNIT) $(LAB_TESTS) $(DIFFERENTIAL) $(SYSTEMD_HELPERS)
