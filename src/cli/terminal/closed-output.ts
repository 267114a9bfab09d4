/** What a program does when nobody reads its standard output any more. */
let closed: (error: NodeJS.ErrnoException) => void = (error) => {
  // A reader such as `head` may close our output early; that is no failure.
  process.exit(error.code === 'EPIPE' ? 0 : 1);
};

/** Ends the process when its output is closed, until `surviveClosedOutput`. Messages may be lost. */
export function endWithOutput(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => closed(error));
  process.stderr.on('error', () => undefined);
}

/** From now on the process goes on, for as long as others need it. */
export function surviveClosedOutput(): void {
  closed = () => undefined;
}
