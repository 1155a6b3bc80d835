// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What is done to the provider, as rows.
//
// A row with `tool` is a call that the client makes and the server would serve.  A row with `verb` is
// done by the attacker inside the server's process (compromised.mjs).  `hooks` are the places of
// enforcement that may refuse it, `about` is what the violation has to name, `undo` takes back what a
// successful attempt left behind.

import fs from 'node:fs';

const root = '/srv/bulkhead-demo';
const workspace = `${root}/workspace`;
const token = `${workspace}/secrets/token.txt`;

export const server = `${root}/server`;
export const socketPath = '/run/bulkhead-demo.sock';
export const orders = `${workspace}/orders`;
export const port = 40899;
export { token, workspace };

export const permitted = [
	{
		name: 'read notes.txt',
		tool: 'read_text_file',
		args: { path: `${workspace}/notes.txt` },
		answer: /the notes that the agent works with/,
	},
	{
		name: 'list the workspace',
		tool: 'list_directory',
		args: { path: workspace },
		answer: /\[FILE\] notes\.txt/,
	},
	{
		name: 'write reports/today.txt',
		tool: 'write_file',
		args: { path: `${workspace}/reports/today.txt`, content: 'all is well\n' },
		answer: /Successfully wrote/,
	},
	{
		name: 'read it back',
		tool: 'read_text_file',
		args: { path: `${workspace}/reports/today.txt` },
		answer: /all is well/,
	},
];

export const forbidden = [
	{
		name: 'read secrets/token.txt',
		tool: 'read_text_file',
		args: { path: token },
		hooks: ['file_open'],
		about: token,
	},
	{
		name: 'read a symlink to it',
		tool: 'read_text_file',
		args: { path: `${workspace}/shortcut.txt` },
		hooks: ['file_open'],
		about: token,
	},
	{
		name: 'move it to a permitted name',
		tool: 'move_file',
		args: { source: token, destination: `${workspace}/moved.txt` },
		hooks: ['path_rename'],
		about: token,
		undo: () => fs.renameSync(`${workspace}/moved.txt`, token),
	},
	{
		name: 'hard-link it, read the link',
		verb: 'link',
		args: { path: token, name: `${workspace}/borrowed.txt` },
		hooks: ['path_link'],
		about: `${workspace}/borrowed.txt`,
		undo: () => fs.unlinkSync(`${workspace}/borrowed.txt`),
	},
	{
		name: 'read ../private/token.txt',
		verb: 'read',
		args: { path: '../private/token.txt' },
		hooks: ['file_open'],
		about: `${root}/private/token.txt`,
	},
	{
		name: 'read a symlink to that',
		verb: 'read',
		args: { path: `${workspace}/way-out.txt` },
		hooks: ['file_open'],
		about: `${root}/private/token.txt`,
	},
	{
		name: 'child process: /usr/bin/id',
		verb: 'run',
		args: { command: '/usr/bin/id' },
		hooks: ['file_open', 'bprm_check_security'],
		about: '/usr/bin/id',
	},
	{
		name: 'run its own workspace/tool.sh',
		verb: 'run',
		args: { command: `${workspace}/tool.sh` },
		hooks: ['file_open', 'bprm_check_security'],
		about: `${workspace}/tool.sh`,
	},
	{
		name: `TCP connect 127.0.0.1:${port}`,
		verb: 'connect',
		args: { host: '127.0.0.1', port },
		hooks: ['socket_create', 'socket_connect', 'connect4'],
		about: 'family inet',
	},
	{
		name: 'connect /run/systemd/private',
		verb: 'connect',
		args: { path: '/run/systemd/private' },
		hooks: ['unix_stream_connect'],
		about: '/run/systemd/private',
	},
];

// Enough to tell that a new process is inside: what the policy leaves, a file, a program, a socket.
export const permittedAgain = [permitted[0]];
export const forbiddenAgain = forbidden.filter(row =>
	['read secrets/token.txt', 'child process: /usr/bin/id', 'connect /run/systemd/private'].includes(row.name));
