/** The reaction to closed standard output. */
let closed: (error: NodeJS.ErrnoException) => void = (error) => {
  // A reader such as `head` may close the output early; that is no failure.
  process.exit(error.code === 'EPIPE' ? 0 : 1);
};

/**
 * Ends the process when its output is closed, until `surviveClosedOutput`. Messages may be lost.
 */
export function endWithOutput(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => closed(error));
  process.stderr.on('error', () => undefined);
}

/** From now on the process continues without its output. */
export function surviveClosedOutput(): void {
  closed = () => undefined;
}
