// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The demo's story: serve, attach, serve and refuse, restart, compare.  Exit status 0 only when every
// permitted call worked and every attempt worked before and was refused by bulkhead, with its event.

import fs from 'node:fs';
import { forbidden, forbiddenAgain, permitted, permittedAgain, port, token } from './attempts.mjs';
import { attachCommand, bulkhead, template, Violations } from './bulkhead.mjs';
import { Listener, systemctl } from './host.mjs';
import { Session } from './session.mjs';
import { printTable } from './table.mjs';

const begun = performance.now();
const wrong = [];
const tally = { permitted: 0, attempts: 0 };

function step(text) {
	console.log(`\n[${((performance.now() - begun) / 1000).toFixed(0)} s] ${text}`);
}

function note(name, text) {
	console.log(`    ${name.padEnd(36)} ${text}`);
}

function expect(good, what) {
	if (!good) wrong.push(what);
	return good;
}

async function callPermitted(session, rows) {
	for (const row of rows) {
		const result = await session.call(row.tool, row.args);
		const good = expect(result.ok && row.answer.test(result.text), `${row.name}: ${result.text}`);
		if (good) tally.permitted++;
		note(row.name, good ? 'works' : `FAILS: ${result.text}`);
	}
}

// The positive control: what an attempt is worth is known only when it has succeeded.
async function control(session, row) {
	const result = await session.attempt(row);
	expect(result.ok, `before attach, ${row.name}: ${result.text}`);
	note(row.name, result.ok ? `works: ${result.text.replace(/ to \/.*/, '')}` : `FAILS: ${result.text}`);
	if (result.ok) row.undo?.();
	return result.ok ? 'worked' : result.code ?? 'failed';
}

// A refusal counts when the provider saw the error and bulkhead's own event for it has come.
async function refusal(session, violations, row, when) {
	const already = violations.seen.length;
	const result = await session.attempt(row);
	const event = await violations.find(already, session.pid, row.hooks, result.ok ? 1 : 10);
	if (result.ok) row.undo?.();
	const good = expect(!result.ok && event?.errno === result.code,
		`${when}, ${row.name}: ${result.ok ? 'it worked' : result.text}; ${event ? `event ${event.errno}` : 'no event'}`);
	if (good) tally.attempts++;
	note(row.name, result.ok ? 'NOT REFUSED' : `refused, ${result.code}`);
	return {
		after: result.ok ? 'WORKED' : result.code ?? 'failed',
		by: event ? `bulkhead, ${event.hook}` : 'nobody',
		event: event ? `#${event.seq}` : 'NONE',
	};
}

async function refusals(session, violations, rows, when) {
	const results = new Map();
	for (const row of rows) results.set(row, await refusal(session, violations, row, when));
	return results;
}

function attach() {
	console.log(`    $ bulkhead ${attachCommand.join(' ')}`);
	indent(bulkhead(...attachCommand));
	console.log('    $ bulkhead status');
	indent(bulkhead('status'));
}

function indent(text) {
	console.log(text.replace(/^/gm, '    '));
}

function report(before, after) {
	step('What was attempted, and what became of it');
	printTable(['attempt', 'by', 'before', 'after', 'refused by', 'event'], forbidden.map(row => [
		row.name, row.tool ?? 'the process', before.get(row), after.get(row).after, after.get(row).by,
		after.get(row).event,
	]));
	if (wrong.length) {
		console.log(`\nNot as expected:\n${wrong.map(line => `  ${line}`).join('\n')}`);
		return 1;
	}
	console.log(`\nall ${tally.attempts} attempts refused, ${tally.permitted} permitted calls worked`);
	return 0;
}

async function tell() {
	const listener = new Listener(port);
	const before = new Map();

	step('A client connects; systemd starts a server for it; there is no bulkhead');
	const session = await Session.open();
	note(session.unit, `process ${session.pid}, uid 0`);
	await callPermitted(session, permitted);

	step('Controls: what a client may ask, and what a compromised server process can do by itself');
	for (const row of forbidden) before.set(row, await control(session, row));

	step('bulkhead comes');
	systemctl('start', process.env.DEMO_DAEMON);
	const violations = await Violations.follow();
	attach();

	step(`The same connection to the same process ${session.pid}: the client's work goes on`);
	await callPermitted(session, permitted);

	step('The same attempts; violations (!) are printed as they come');
	const arrived = listener.arrived;
	const after = await refusals(session, violations, forbidden, 'after attach');
	expect(listener.arrived === arrived, 'a connection arrived at the listener after attach');
	expect(fs.readFileSync(token, 'utf8').startsWith('synthetic'), 'an outsider cannot read the token');
	note('the same read by an outsider', 'works');

	step(`systemctl restart ${session.unit}`);
	session.restart();
	note('a new process on the old connection', String(session.pid));
	await callPermitted(session, permittedAgain);
	await refusals(session, violations, forbiddenAgain, 'after the restart');
	await session.close();

	step('A new connection, so a new instance');
	const second = await Session.open();
	note(second.unit, `process ${second.pid}`);
	await callPermitted(second, permittedAgain);
	await refusals(second, violations, forbiddenAgain, 'in a new instance');

	step(`bulkhead detach ${template}: the same process may again`);
	indent(bulkhead('detach', '--unit', template));
	const freed = await second.attempt(forbidden[0]);
	expect(freed.ok, `after detach, ${forbidden[0].name}: ${freed.text}`);
	note(forbidden[0].name, freed.ok ? 'works' : `FAILS: ${freed.text}`);

	await second.close();
	violations.close();
	listener.close();
	return report(before, after);
}

process.exitCode = await tell();
