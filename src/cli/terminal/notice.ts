import { printable } from './terminal.js';

/** Prints a line to standard error. Control characters are escaped, and so are ends of lines. */
export function notice(line: string): void {
  process.stderr.write(`${printable(line)}\n`);
}

/** Prints several lines in the same way. */
export function noticeLines(lines: readonly string[]): void {
  for (const line of lines) notice(line);
}
