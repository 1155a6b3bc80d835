// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The demo's story: serve, attach, serve and refuse, restart, compare.  Exit status 0 only when every
// permitted call worked and every attempt worked before and was refused by bulkhead, with its event.

import fs from 'node:fs';
import { forbidden, forbiddenAgain, permitted, permittedAgain, port, token } from './attempts.mjs';
import { attachCommand, bulkhead, compartmentOf, template, Violations } from './bulkhead.mjs';
import { Listener, mainPid, systemctl } from './host.mjs';
import { Session } from './session.mjs';
import { printTable } from './table.mjs';

const begun = performance.now();
const wrong = [];
const worked = { before: 0, under: 0 };
const refused = [];

function step(text) {
	console.log(`\n[${((performance.now() - begun) / 1000).toFixed(0)} s] ${text}`);
}

function note(name, text) {
	console.log(`    ${name.padEnd(38)} ${text}`);
}

function indent(text) {
	console.log(text.replace(/^/gm, '    '));
}

function expect(good, what) {
	if (!good) wrong.push(what);
	return good;
}

async function callPermitted(session, rows, when = 'under') {
	for (const row of rows) {
		const result = await session.call(row.tool, row.args);
		if (expect(result.ok && row.answer.test(result.text), `${row.name}: ${result.text}`)) worked[when]++;
		note(row.name, result.ok ? 'works' : `FAILS: ${result.text}`);
	}
}

// The positive control: what a refusal is worth is known only when the attempt has succeeded once.
async function control(session, row) {
	const result = await session.attempt(row);
	expect(result.ok, `before attach, ${row.name}: ${result.text}`);
	note(row.name, result.ok ? `works: ${result.text.replace(/ \/.*/, '')}` : `FAILS: ${result.text}`);
	if (result.ok) row.undo?.();
	return result.ok ? 'worked' : result.code ?? 'failed';
}

// A refusal counts when the provider saw the errno of bulkhead's own event.  Returns cells of the table.
async function refusal(session, violations, compartment, row, when) {
	const already = violations.seen.length;
	const result = await session.attempt(row);
	const event = await violations.find(already, compartment, row, result.ok ? 1 : 10);
	if (result.ok) row.undo?.();
	const told = `${result.ok ? 'it worked' : result.text}; event: ${event?.errno ?? 'none'}`;
	if (expect(!result.ok && event?.errno === result.code, `${when}, ${row.name}: ${told}`)) refused.push(row);
	note(row.name, result.ok ? 'NOT REFUSED' : `refused: ${result.code}`);
	return [result.ok ? 'WORKED' : result.code ?? 'failed', event ? event.hook : 'nowhere',
		event ? `#${event.seq}${event.kind === 'repeated' ? ' again' : ''}` : 'NONE'];
}

async function refusals(session, violations, rows, when) {
	const compartment = compartmentOf(session.unit)?.id;
	const cells = new Map();
	for (const row of rows) cells.set(row, await refusal(session, violations, compartment, row, when));
	return cells;
}

function inside(session) {
	const compartment = compartmentOf(session.unit);
	const { tally } = compartment ?? {};
	expect(compartment?.state === 'enforced' && tally.lost === 0, `status of ${session.unit}: ${JSON.stringify(compartment)}`);
	note('bulkhead status', compartment
		? `${compartment.state}, processes ${compartment.processes}, refused ${tally.refused}, lost ${tally.lost}` : 'NOT INSIDE');
}

function attach(session) {
	console.log(`    $ bulkhead ${attachCommand.join(' ')}`);
	indent(bulkhead(...attachCommand));
	expect(mainPid(session.unit) === session.pid, 'attach restarted the provider');
}

function report(before, groups) {
	step('What was attempted, and what became of it');
	const rows = groups.flatMap(([title, cells]) => [[title],
		...[...cells].map(([row, rest]) => [`  ${row.name}`, row.tool ? 'tool call' : 'process', before.get(row), ...rest])]);
	printTable(['attempt', 'by', 'before', 'after', 'refused by bulkhead at', 'event'], rows);
	if (wrong.length) {
		console.log(`\nNot as expected:\n${wrong.map(line => `  ${line}`).join('\n')}`);
		return 1;
	}
	const { before: alone, under } = worked;
	console.log(`\nall ${refused.length} attempts refused, ${alone + under} permitted calls worked `
		+ `(${alone} before, ${under} under the policy)`);
	return 0;
}

async function tell() {
	const listener = new Listener(port);
	const before = new Map();

	step('A client connects, systemd starts a server for it, there is no bulkhead');
	const session = await Session.open();
	note(session.unit, `process ${session.pid}, uid 0`);
	await callPermitted(session, permitted, 'before');

	step('Controls: the client asks, or the compromised server process does it by itself');
	for (const row of forbidden) before.set(row, await control(session, row));

	step('bulkhead comes');
	systemctl('start', process.env.DEMO_DAEMON);
	const violations = await Violations.follow();
	attach(session);

	step(`The same connection to the same process ${session.pid}: permitted work goes on`);
	await callPermitted(session, permitted);

	step('The same attempts; violations (!) are printed as they come');
	const arrived = listener.arrived;
	const after = await refusals(session, violations, forbidden, 'after attach');
	expect(listener.arrived === arrived, 'a connection arrived at the listener after attach');
	expect(fs.readFileSync(token, 'utf8').startsWith('synthetic'), 'an outsider cannot read the token');
	note('the token, read by an outsider', 'works');
	inside(session);

	step(`systemctl restart ${session.unit}`);
	session.restart();
	note('a new process on the old connection', `process ${session.pid}`);
	await callPermitted(session, permittedAgain);
	const restarted = await refusals(session, violations, forbiddenAgain, 'after the restart');
	inside(session);
	await session.close();

	step('A new connection, so a new instance');
	const second = await Session.open();
	note(second.unit, `process ${second.pid}`);
	await callPermitted(second, permittedAgain);
	const renewed = await refusals(second, violations, forbiddenAgain, 'in a new instance');
	inside(second);

	step(`bulkhead detach --unit ${template}: the last control, the same process may again`);
	bulkhead('detach', '--unit', template);
	const freed = await second.attempt(forbidden[0]);
	expect(freed.ok, `after detach, ${forbidden[0].name}: ${freed.text}`);
	note(forbidden[0].name, freed.ok ? 'works' : `FAILS: ${freed.text}`);

	await second.close();
	violations.close();
	listener.close();
	return report(before, [
		['the running process', after], ['restarted', restarted], ['a new instance', renewed],
	]);
}

// exit, not exitCode: a story that ended in the middle has left its listener and its follower open.
process.exit(await tell().catch(error => {
	console.log(`\nThe demo ends here: ${error.message}`);
	return 1;
}));
