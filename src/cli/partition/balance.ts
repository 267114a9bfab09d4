import { Command } from 'commander';
import { printable } from '../terminal/terminal.js';
import { withAccess, withPartitions, type AccessFlags } from './access.js';

interface BalanceFlags extends AccessFlags {
  readonly dryRun?: boolean;
}

export function partitionBalanceCommand(): Command {
  const command = new Command('balance')
    .summary('begin what makes the stores share the load')
    .description(
      'Plan splits, merges and moves from the measured load, and begin them; ranges that no such ' +
        'operation helps are told with advice. A server with --balancer on does this by itself.',
    )
    .option('--dry-run', 'only print the plan');
  return withAccess(command)
    .addHelpText(
      'after',
      '\nExamples:\n  tabularium partition balance --dry-run --control-port 10009',
    )
    .action((flags: BalanceFlags) =>
      withPartitions(flags, async (control) => {
        const plan = await control.balance(flags.dryRun ?? false);
        const { operations, findings, begun } = plan;
        if (flags.json === true) {
          process.stdout.write(`${JSON.stringify(plan)}\n`);
          return;
        }
        const nothing = operations.length + findings.length === 0;
        const lines = nothing ? ['There is nothing to do.'] : [...operations, ...findings];
        if (begun.length > 0) lines.push(`Operations ${begun.join(', ')} have begun.`);
        process.stdout.write(lines.map((line) => `${printable(line)}\n`).join(''));
      }),
    );
}
