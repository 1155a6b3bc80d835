// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "daemon.h"

void timer_arm(sd_event_source *timer, uint64_t after_us)
{
	sd_event_source_set_time(timer, now_us() + after_us);
	sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

bool timer_is_armed(sd_event_source *timer)
{
	int enabled = SD_EVENT_OFF;

	sd_event_source_get_enabled(timer, &enabled);
	return enabled != SD_EVENT_OFF;
}

void timer_arm_by(sd_event_source *timer, uint64_t after_us)
{
	uint64_t at;

	if (timer_is_armed(timer) && !sd_event_source_get_time(timer, &at) &&
	    at <= now_us() + after_us)
		return;
	timer_arm(timer, after_us);
}
