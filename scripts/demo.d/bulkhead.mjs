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

export function compartmentOf(unit) {
	return JSON.parse(bulkhead('status', '--json')).compartments.find(one => one.unit === unit);
}

// Violations, printed as they come; a noted one (-) stopped nobody.
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
		// What is the same as a moment ago is told of by a record of its own, later.
		if (!['violation', 'repeated'].includes(record.kind)) return;
		this.seen.push(record);
		const { comm, tgid } = record.subject;
		const mark = record.verdict === 'refused' ? '!' : '-';
		console.log(`  ${mark} ${record.hook} #${record.seq}, ${comm}[${tgid}]: ${record.message}`);
	}

	// The first violation or repetition in the compartment, after the first `already`, that a row of attempts.mjs expects.
	async find(already, compartment, { hooks, about }, seconds) {
		const found = () => this.seen.slice(already).find(record => record.compartment === compartment &&
			hooks.includes(record.hook) && record.message.includes(about));
		await until(found, 'the event', seconds).catch(() => {});
		return found();
	}

	close() {
		this.process.kill();
	}
}
