// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The product, by its own commands.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { server, workspace } from './attempts.mjs';
import { output, until } from './host.mjs';

export const template = 'bulkhead-demo@.service';
const policy = process.env.DEMO_POLICY;

export const attachCommand = ['attach', policy, '--unit', template,
	'--var', `SERVER=${server}`, '--var', `WORKSPACE=${workspace}`];

export const bulkhead = (...args) => output('bulkhead', ...args);

// Violations, printed as they come.
export class Violations {
	seen = [];

	static async follow() {
		const violations = new Violations();
		violations.process = spawn('bulkhead', ['events', '--follow', '--json'],
			{ stdio: ['ignore', 'pipe', 'inherit'] });
		createInterface({ input: violations.process.stdout })
			.on('line', line => violations.take(JSON.parse(line)));
		await new Promise((resolve, reject) => violations.process.on('spawn', resolve).on('error', reject));
		return violations;
	}

	take(record) {
		if (record.kind !== 'violation') return;
		this.seen.push(record);
		console.log(`    ! ${record.hook} #${record.seq} ${record.subject.comm}[${record.subject.tgid}] ${record.message}`);
	}

	// The first violation of `pid` or a child of it, at one of the hooks, after the first `already`.
	async find(already, pid, hooks, seconds) {
		const found = () => this.seen.slice(already).find(record => hooks.includes(record.hook) &&
			[record.subject.tgid, ...record.subject.ancestry.map(parent => parent.pid)].includes(pid));
		await until(found, 'the event', seconds).catch(() => {});
		return found();
	}

	close() {
		this.process.kill();
	}
}
