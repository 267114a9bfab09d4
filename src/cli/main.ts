import { endWithOutput } from './terminal/closed-output.js';
import { buildProgram } from './program.js';
import { commandWords } from './arguments/command-names.js';
import { forgetEmptyVariables } from './arguments/empty-variables.js';
import { report } from './report.js';

/**
 * Runs a command line and ends the process: 0 success, 1 failure, 2 wrong usage. A server has
 * further codes (`start/process-end.ts`). SIGHUP is held back until `releaseHangup` is called,
 * which every command except `start` does.
 */
export async function main(argv: readonly string[], releaseHangup: () => void): Promise<void> {
  endWithOutput();
  await runCommandLine(argv, releaseHangup);
}

/** What `main` does, without a say in what closed output means. The exit code is the process's. */
export async function runCommandLine(
  argv: readonly string[],
  releaseHangup: () => void,
): Promise<void> {
  try {
    forgetEmptyVariables(process.env);
    const program = buildProgram();
    const words = commandWords(program, argv);
    if (words[0] !== 'start') releaseHangup();
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    process.exitCode = report(error);
  }
}
