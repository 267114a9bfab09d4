/** Reports progress to the user on standard error. Standard output only gets results. */
export function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}
