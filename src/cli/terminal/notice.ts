import { printableLines } from './terminal.js';

/** Prints to standard error. Control characters are escaped. */
export function notice(text: string): void {
  process.stderr.write(`${printableLines(text)}\n`);
}
