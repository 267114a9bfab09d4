import { Command } from 'commander';
import type { VerifyResult } from '../../http/control/partitions.js';
import { CommandFailure } from '../terminal/failure.js';
import { counted, printable } from '../terminal/terminal.js';
import { withAccess, withPartitions, type AccessFlags } from './access.js';
import { jobResult } from './waiting.js';

export function partitionVerifyCommand(): Command {
  const command = new Command('verify')
    .summary('compare the map of ranges with what the stores have')
    .description(
      'Compare the map of ranges with what all stores have: that the store of each range serves it, ' +
        'and no other, and that nothing is where nobody reads it. Changes nothing. Exit code 0: all ' +
        'agrees; 1: it does not, and the lines say where.',
    );
  return withAccess(command)
    .addHelpText('after', '\nExamples:\n  tabularium partition verify --control-port 10009')
    .action((flags: AccessFlags) =>
      withPartitions(flags, async (control) => {
        const { job } = await control.verify();
        // The result of this job is of this form.
        const result = (await jobResult(control, job)) as VerifyResult;
        const { findings } = result;
        if (flags.json === true) process.stdout.write(`${JSON.stringify(result)}\n`);
        else for (const finding of findings) process.stdout.write(`${printable(finding)}\n`);
        if (findings.length > 0) {
          throw new CommandFailure(
            `Map and stores differ in ${counted(findings.length, 'place')}.`,
          );
        }
        if (flags.json !== true) process.stdout.write('Map and stores agree.\n');
      }),
    );
}
