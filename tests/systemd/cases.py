# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""usage: cases.py GROUP...   runs the cases of these groups that belong to boot $LAB_BOOT"""
import sys

# Importing registers the cases, in the order they run.
import cases_agent  # noqa: F401
import cases_unit  # noqa: F401
import cases_template  # noqa: F401
import cases_pid  # noqa: F401
import cases_gone  # noqa: F401
import cases_refuse  # noqa: F401
import cases_stream  # noqa: F401
import cases_trip  # noqa: F401
import cases_shipped  # noqa: F401
import cases_learn  # noqa: F401
import cases_containers  # noqa: F401
import cases_tools  # noqa: F401
import cases_mcp  # noqa: F401
import cases_residue  # noqa: F401
import cases_run  # noqa: F401
import cases_boot  # noqa: F401
import cases_egress  # noqa: F401
import cases_proxy  # noqa: F401
import cases_listen  # noqa: F401
import cases_clients  # noqa: F401
import cases_host  # noqa: F401
import harness

harness.set_up()
harness.set_up_systemd()
harness.set_up_agent()
harness.run_cases(sys.argv[1:])
