// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

// A row of one cell is a heading among the rows.
export function printTable(header, rows) {
	const full = [header, ...rows.filter(row => row.length > 1)];
	const widths = header.map((_, i) => Math.max(...full.map(row => row[i].length)));
	const line = row => row.map((cell, i) => cell.padEnd(widths[i])).join('  ').trimEnd();
	console.log(line(header));
	console.log(widths.map(width => '-'.repeat(width)).join('  '));
	for (const row of rows) console.log(row.length > 1 ? line(row) : row[0]);
}
