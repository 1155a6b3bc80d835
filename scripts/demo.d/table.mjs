// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

export function printTable(header, rows) {
	const widths = header.map((_, i) => Math.max(...[header, ...rows].map(row => row[i].length)));
	const line = row => row.map((cell, i) => cell.padEnd(widths[i])).join('  ').trimEnd();
	console.log([line(header), widths.map(n => '-'.repeat(n)).join('  '), ...rows.map(line)].join('\n'));
}
