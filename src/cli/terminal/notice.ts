import { printableLines } from './terminal.js';

/** Tells a person, on standard error. Nothing in the text can command the terminal. */
export function notice(text: string): void {
  process.stderr.write(`${printableLines(text)}\n`);
}
