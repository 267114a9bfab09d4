import { createInterface } from 'node:readline/promises';
import { printable } from './terminal.js';

/** Asks the user; anything but `y` or `yes`, the end of the input included, means no. */
export async function confirmed(
  question: string,
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
): Promise<boolean> {
  const terminal = createInterface({ input, output });
  const ended = new Promise<undefined>((resolve) =>
    terminal.once('close', () => resolve(undefined)),
  );
  try {
    const answer = await Promise.race([terminal.question(`${printable(question)} [y/N] `), ended]);
    // The next output must begin on a new line.
    if (answer === undefined) output.write('\n');
    return answer !== undefined && /^y(es)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}
