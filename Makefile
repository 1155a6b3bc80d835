# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# make [all|check|soak|bench|bench-rules|bench-relay|lint|demo|lab|install|clean]   V=1 shows commands, SAN=1
# builds with ASan and UBSan, BUILD=DIR builds elsewhere.

BUILD   ?= build
PREFIX  ?= /usr/local
CLANG   ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool /usr/local/sbin/bpftool) bpftool)
Q       := $(if $(V),,@)
say      = $(if $(V),,@printf '  %-6s %s\n' $(1) $(patsubst $(BUILD)/%,%,$@))

ARCH    := $(shell uname -m)
BPFARCH := $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(ARCH)))
LAYERS  := base policy audit learn kern compart launch egress
LIBS    := -lbpf -lelf -lz -lcyaml -lyaml -ljansson -lsystemd -lsodium

WARN    := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
CFLAGS  ?= -O2 -g
comma   := ,
ALL_CFLAGS := -std=gnu11 -D_GNU_SOURCE $(WARN) -Iuser -Iinclude -I$(BUILD)/gen -MMD -MP \
	   $(if $(SAN),-fsanitize=address$(comma)undefined -fno-omit-frame-pointer) $(CFLAGS)
ALL_LDFLAGS := $(if $(SAN),-fsanitize=address$(comma)undefined) $(LDFLAGS)
BPFFLAGS := -g -O2 -mcpu=v3 -target bpf -D__TARGET_ARCH_$(BPFARCH) -Ivmlinux/$(ARCH) -Iinclude \
	   -Ibpf -Wall -Wextra -Werror -Wno-unused-parameter \
	   -Wno-gnu-variable-sized-type-not-at-end -MMD -MP

SKEL    := $(BUILD)/gen/bulkhead.skel.h
LIB     := $(BUILD)/libbulkhead.a
objects  = $(patsubst %.c,$(BUILD)/%.o,$(wildcard $(1)))
LIB_OBJ := $(call objects,$(LAYERS:%=user/%/*.c))
PROGS   := $(BUILD)/bin/bulkhead $(BUILD)/bin/bulkheadd $(BUILD)/bin/bulkhead-egressd
# Cases that a unit test and the kernel's code are given alike.
CASES_OBJ := $(patsubst %,$(BUILD)/tests/diff/%.o,draw globs paths world reference answer)
UNIT    := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(wildcard tests/unit/test_*.c))

.PHONY: all bench bench-rules bench-relay check soak lint demo lab install clean unit tests
.DELETE_ON_ERROR:
.SECONDARY:

all: $(PROGS)

$(BUILD)/bulkhead.bpf.o: bpf/bulkhead.bpf.c
	@mkdir -p $(@D)
	$(call say,BPF)
	$(Q)$(CLANG) $(BPFFLAGS) -c $< -o $@

$(SKEL): $(BUILD)/bulkhead.bpf.o
	@mkdir -p $(@D)
	$(call say,SKEL)
	$(Q)$(BPFTOOL) gen skeleton $< name bulkhead_bpf > $@

$(BUILD)/user/kern/load.o $(BUILD)/tests/unit/test_programs.o: $(SKEL)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) -c $< -o $@

$(LIB): $(LIB_OBJ)
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcsP $@ $^

$(BUILD)/bin/bulkhead: $(call objects,user/cli/*.c) $(LIB)
$(BUILD)/bin/bulkheadd: $(call objects,user/daemon/*.c) $(LIB)
$(BUILD)/bin/bulkhead-egressd: $(call objects,user/egressd/*.c) $(LIB)
$(BUILD)/bin/bulkhead-egressd: LIBS := -lsystemd -ljansson -lldns -lmnl -lunbound -lseccomp
$(BUILD)/bin/bulkhead: LIBS += -lmnl -lunbound
$(BUILD)/bin/bulkheadd: LIBS += -lmnl
$(PROGS):
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

CLI_TESTS := $(patsubst %,$(BUILD)/tests/unit/test_%,cli egress_check)
$(CLI_TESTS): $(filter-out %/main.o,$(call objects,user/cli/*.c))
$(CLI_TESTS): LIBS += -lmnl -lunbound
DAEMON_TESTS := $(patsubst %,$(BUILD)/tests/unit/test_%,daemon config kept relay ways)
$(DAEMON_TESTS): $(filter-out %/main.o,$(call objects,user/daemon/*.c))
$(DAEMON_TESTS): LIBS += -lmnl
# What it says to the kernel, and who is inside, the test answers itself.
$(BUILD)/tests/unit/test_ways: ALL_LDFLAGS += $(patsubst %,-Wl$(comma)--wrap=%,kern_outlet_set kern_outlet_unset kern_outlets_clear \
	kern_flows_fd kern_flows_clear kern_fence_fill kern_fence_attach kern_fence_refused cgroup_own_get \
	kern_outlet_mark kern_compartment_get cgroup_pids cgroup_of_pid)
EGRESS_TESTS := $(patsubst %,$(BUILD)/tests/unit/test_%,egress hello route dial resolve reach flow guard egressd egressd_parts proxy \
	flood liar starved)
$(patsubst %,$(BUILD)/tests/unit/test_%,egressd proxy flood starved): | $(BUILD)/bin/bulkhead-egressd
$(BUILD)/tests/unit/test_egressd_parts: $(filter-out %/main.o,$(call objects,user/egressd/*.c))
$(BUILD)/tests/unit/test_egressd_parts: LIBS := -lseccomp $(LIBS)
$(EGRESS_TESTS): LIBS := -lldns -lmnl -lunbound $(LIBS)
$(BUILD)/tests/unit/test_differential.o: ALL_CFLAGS += -Itests
$(BUILD)/tests/unit/test_differential: $(CASES_OBJ)
$(UNIT): $(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(LIB)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $(filter-out $(LIB),$^) $(LIB) -lcmocka $(LIBS)

BENCH := $(BUILD)/tests/bench/open $(BUILD)/tests/bench/held $(BUILD)/tests/bench/place $(BUILD)/tests/bench/rules $(BUILD)/tests/bench/connect \
	 $(BUILD)/tests/bench/relay
$(BUILD)/tests/bench/connect.o: ALL_CFLAGS += -Itests
$(BUILD)/tests/bench/connect: $(BUILD)/tests/kern/harness.o $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/neg/verbs*.c))
RELAY_OBJ := $(call objects,tests/bench/relay*.c)
$(RELAY_OBJ): ALL_CFLAGS += -Itests
$(BUILD)/tests/bench/relay: $(RELAY_OBJ) | $(BUILD)/bin/bulkhead-egressd
$(BUILD)/tests/bench/relay: LIBS := -lcmocka -lldns -pthread $(LIBS)
$(BENCH): %: %.o $(LIB)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $(filter-out $(LIB),$^) $(LIB) $(LIBS)

unit: $(UNIT)
tests: $(UNIT)
-include tests/tests.mk

check:
	$(Q)scripts/check
soak:
	$(Q)scripts/soak
lint:
	$(Q)scripts/lint
demo:
	$(Q)scripts/demo
lab:
	$(Q)scripts/lab --shell

bench-rules: $(BUILD)/tests/bench/rules
	$(Q)$<
bench-relay: $(BUILD)/tests/bench/relay
	$(Q)tests/bench/run-relay
bench: $(BUILD)/tests/bench/open $(BUILD)/tests/bench/place $(BUILD)/tests/bench/held $(BUILD)/tests/bench/connect \
		$(BUILD)/tests/lab/probe bench-rules
	$(Q)$(BUILD)/tests/bench/rules 10000 1 $(BUILD)/tests/bench/rules.yaml
	$(Q)for k in 6.1 6.12 7.2; do echo "== $$k"; \
		scripts/lab --kernel $$k --icount --add $< -- ./open || exit; \
		scripts/lab --kernel $$k --icount --add $(word 3,$^) -- ./held || exit; \
		scripts/lab --kernel $$k --icount --add $(word 4,$^) --add $(BUILD)/tests/lab/probe \
			--add tests/neg/policies -- ./connect || exit; \
		scripts/lab --kernel $$k --icount --timeout 600 --add $(word 2,$^) --add tests/bench/place.yaml \
			--add $(BUILD)/tests/bench/rules.yaml --add tests/bench/run-place -- ./run-place || exit; done
	$(Q)$(MAKE) -s bench-relay

install: all
	install -D -t $(DESTDIR)$(PREFIX)/sbin $(PROGS)
	find policies -name '*.yaml' -exec \
		install -D -m 644 {} $(DESTDIR)$(PREFIX)/share/bulkhead/{} \;
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man5 man/*.5
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man8 man/*.8
	sed 's|@SBINDIR@|$(PREFIX)/sbin|' scripts/bulkheadd.service | install -D -m 644 /dev/stdin \
		$(DESTDIR)$(PREFIX)/lib/systemd/system/bulkheadd.service

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -type f -name '*.d' 2>/dev/null)
