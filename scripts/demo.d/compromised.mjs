// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The attacker.  `node --import` loads this into the very process of the real, unmodified MCP server,
// as a compromised dependency of it would be: no tool of the server can open a socket or start a
// program, so somebody inside its process has to.
//
// An order is a file ORDERS/PID.json, the answer ORDERS/PID.answer.json; both lie in the workspace,
// which the policy leaves to the server.

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';

const orders = process.env.DEMO_ORDERS;
const orderFile = `${orders}/${process.pid}.json`;
const answerFile = `${orders}/${process.pid}.answer.json`;

const verbs = {
	read: ({ path }) => firstLine(fs.readFileSync(path, 'utf8')),
	link({ path, name }) {
		fs.linkSync(path, name);
		return firstLine(fs.readFileSync(name, 'utf8'));
	},
	run({ command, args = [] }) {
		const child = spawnSync(command, args, { encoding: 'utf8' });
		if (child.error) throw child.error;
		if (child.status !== 0) throw new Error(`exit status ${child.status}: ${firstLine(child.stderr)}`);
		return firstLine(child.stdout);
	},
	connect: target => new Promise((resolve, reject) => {
		const socket = net.connect(target, () => {
			socket.destroy();
			resolve('connected');
		});
		socket.on('error', reject);
	}),
};

function firstLine(text) {
	return text.split('\n', 1)[0];
}

async function attempt({ verb, ...rest }) {
	try {
		return { ok: true, text: await verbs[verb](rest) };
	} catch (error) {
		return { ok: false, code: error.code, syscall: error.syscall, text: error.message };
	}
}

// A half-written order is no JSON yet: it is read again at the next look.
function takeOrder() {
	try {
		const order = JSON.parse(fs.readFileSync(orderFile, 'utf8'));
		fs.unlinkSync(orderFile);
		return order;
	} catch {
		return null;
	}
}

async function look() {
	const order = fs.existsSync(orderFile) && takeOrder();
	if (order) {
		const result = await attempt(order);
		fs.writeFileSync(`${answerFile}.part`, JSON.stringify(result));
		fs.renameSync(`${answerFile}.part`, answerFile);
	}
	// unref: the server must end with its connection as if this were not here.
	setTimeout(look, 50).unref();
}

look();
