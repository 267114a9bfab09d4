import { buildProgram } from './program.js';
import { commandWords } from './arguments/command-names.js';
import { forgetEmptyVariables } from './arguments/empty-variables.js';
import { report } from './report.js';

export { watchOutput } from './terminal/closed-output.js';

/**
 * Runs a command line. The caller decides what a closed output means. The exit code is that of the
 * process.
 */
export async function runCommandLine(
  argv: readonly string[],
  releaseHangup: () => void,
): Promise<void> {
  try {
    forgetEmptyVariables(process.env);
    const program = await buildProgram(argv);
    const words = commandWords(program, argv);
    if (words[0] !== 'start') releaseHangup();
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    const code = report(error);
    // Output that was lost has failed a command that succeeds otherwise.
    if (code !== 0) process.exitCode = code;
  }
}
