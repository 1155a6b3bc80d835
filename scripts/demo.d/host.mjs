// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The few things that the demo asks of its host.

import { execFileSync } from 'node:child_process';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export function output(command, ...args) {
	return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
}

export const systemctl = (...args) => output('systemctl', ...args);

export function instances() {
	return systemctl('list-units', '--plain', '--no-legend', '--state=running', 'bulkhead-demo@*.service')
		.split('\n').filter(Boolean).map(line => line.split(' ')[0]);
}

export function mainPid(unit) {
	return Number(systemctl('show', '--value', '--property=MainPID', unit));
}

export async function until(condition, what, seconds = 120) {
	const end = performance.now() + seconds * 1000;
	while (!condition()) {
		if (performance.now() > end) throw new Error(`${what} did not come within ${seconds} s`);
		await sleep(50);
	}
}

// Somebody to connect to, who counts what really arrived.
export class Listener {
	arrived = 0;

	constructor(port) {
		this.server = net.createServer(socket => {
			this.arrived++;
			socket.destroy();
		});
		this.server.listen(port, '127.0.0.1');
	}

	close() {
		this.server.close();
	}
}
