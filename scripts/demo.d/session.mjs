// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// One MCP session: the SDK's client over socat to the socket unit, which starts an instance for it.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import fs from 'node:fs';
import { orders, socketPath } from './attempts.mjs';
import { instances, mainPid, systemctl, until } from './host.mjs';

// Under emulation a server needs ten seconds to start.
const patience = { timeout: 120_000 };

export class Session {
	static async open() {
		const session = new Session();
		const before = instances();
		session.client = new Client({ name: 'bulkhead-demo', version: '1' });
		await session.client.connect(new StdioClientTransport({
			command: 'socat', args: ['-', `UNIX-CONNECT:${socketPath}`],
		}), patience);
		session.unit = instances().find(unit => !before.includes(unit));
		session.pid = mainPid(session.unit);
		return session;
	}

	// One row of attempts.mjs, by whom it says.
	attempt(row) {
		return row.tool ? this.call(row.tool, row.args) : this.order(row.verb, row.args);
	}

	async call(name, args) {
		const result = await this.client.callTool({ name, arguments: args }, undefined, patience);
		const text = result.content.map(part => part.text).join('\n').trim();
		return { ok: !result.isError, text, code: result.isError ? errorCode(text) : undefined };
	}

	async order(verb, args) {
		const answer = `${orders}/${this.pid}.answer.json`;
		fs.writeFileSync(`${orders}/${this.pid}.json`, JSON.stringify({ verb, ...args }));
		await until(() => fs.existsSync(answer), `the provider's answer to "${verb}"`);
		const result = JSON.parse(fs.readFileSync(answer, 'utf8'));
		fs.unlinkSync(answer);
		return result;
	}

	// The service manager keeps the connection: the new server process goes on where the old one was.
	restart() {
		systemctl('restart', this.unit);
		this.pid = mainPid(this.unit);
	}

	async close() {
		await this.client.close();
		await until(() => !instances().includes(this.unit), `the end of ${this.unit}`);
	}
}

function errorCode(text) {
	return text.match(/\bE[A-Z]{3,}\b/)?.[0];
}
