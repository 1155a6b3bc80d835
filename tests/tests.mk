# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Programs of the privileged suites; they run in the lab (tests/run-lab), beside each other.

PROBE      := $(BUILD)/tests/lab/probe
KERN_TESTS := $(BUILD)/tests/lab/kern-tests
NEG_TESTS  := $(BUILD)/tests/lab/neg-tests
LAB_TESTS  := $(PROBE) $(KERN_TESTS) $(NEG_TESTS)

VERBS       := $(wildcard tests/neg/verbs*.c)
VERBS_OBJ   := $(VERBS:%.c=$(BUILD)/%.o)
HARNESS_OBJ := $(BUILD)/tests/kern/harness.o

$(BUILD)/tests/kern/%.o $(BUILD)/tests/neg/%.o: ALL_CFLAGS += -Itests

# Static and at fixed addresses, without the sanitizers: it runs where there is nothing to load, and
# reads its own constant in another process of its kind.
$(PROBE): tests/neg/probe.c $(VERBS) $(wildcard tests/neg/verbs*.h user/base/*.h)
	@mkdir -p $(@D)
	$(call say,PROBE)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) -O2 -Iuser -static -no-pie -o $@ $(filter %.c,$^)

$(KERN_TESTS): $(call objects,tests/kern/*.c) $(VERBS_OBJ) $(LIB)
$(NEG_TESTS): $(filter-out %/probe.o,$(call objects,tests/neg/*.c)) $(HARNESS_OBJ) $(LIB)
$(KERN_TESTS) $(NEG_TESTS):
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -pthread $(LIBS)

# What providers of tests/systemd run; static, because one of them proves what its first open is.
SYSTEMD_HELPERS := $(patsubst tests/systemd/%.c,$(BUILD)/tests/systemd/helpers/%,$(wildcard tests/systemd/*.c))
$(SYSTEMD_HELPERS): $(BUILD)/tests/systemd/helpers/%: tests/systemd/%.c
	@mkdir -p $(@D)
	$(call say,HELPER)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) -O2 -static -o $@ $<

.PHONY: systemd-helpers
systemd-helpers: $(SYSTEMD_HELPERS)

tests: $(UNIT) $(LAB_TESTS) $(SYSTEMD_HELPERS)
