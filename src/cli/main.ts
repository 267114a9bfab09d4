import { endWithOutput } from './closed-output.js';
import { buildProgram } from './program.js';
import { commandWords } from './command-names.js';
import { report } from './report.js';

/**
 * Runs one command line and ends the process: 0 done, 1 failed, 2 the command line is wrong. A
 * server has codes of its own besides (`start/process-end.ts`).
 */
export async function main(argv: readonly string[]): Promise<void> {
  endWithOutput();
  try {
    const program = buildProgram();
    await program.parseAsync(commandWords(program, argv), { from: 'user' });
  } catch (error) {
    process.exitCode = report(error);
  }
}
