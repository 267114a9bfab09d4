/** Tells whoever waits how far it has come. Results go to the standard output alone. */
export function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}
