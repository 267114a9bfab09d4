import { notice } from './notice.js';

/** A reader such as `head` may close the output early; that is no failure. */
function isClosedByReader({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EPIPE';
}

let isTold = false;

/** Output that is lost for another reason, such as a full disk, fails the command. Told once. */
function tellLoss({ message }: Error): void {
  if (!isTold) notice(`error: The output cannot be written: ${message}`);
  isTold = true;
  process.exitCode = 1;
}

/** The reaction to output that is lost: by default, the command does all of its work. */
let lost: (error: NodeJS.ErrnoException) => void = (error) => {
  if (!isClosedByReader(error)) tellLoss(error);
};

/**
 * From now on, errors of the output do not end the process unexpectedly: a command continues
 * without output. Its exit code tells about its work, or is 1 when a failure has lost the output.
 */
export function watchOutput(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => lost(error));
  process.stderr.on('error', () => undefined);
}

/**
 * For commands whose only purpose is what they print: ends the process with the output, with 0 when
 * its reader has closed it, and with 1 and a notice for a failure. Messages may be lost.
 */
export function endWithOutput(): void {
  lost = (error) => {
    if (isClosedByReader(error)) process.exit(0);
    tellLoss(error);
    process.exit(1);
  };
}

/** For servers: the process continues silently without its output. */
export function ignoreLostOutput(): void {
  lost = () => undefined;
}
