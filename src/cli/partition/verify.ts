import { Command, Option } from 'commander';
import { isVerifyResult } from '../../http/control/job-results.js';
import type { VerifyChoice, VerifyResult } from '../../http/control/partitions.js';
import { wholeNumber } from '../arguments/option-parsers.js';
import { CommandFailure } from '../terminal/failure.js';
import { notice } from '../terminal/notice.js';
import { counted, jsonLine, printable } from '../terminal/terminal.js';
import { withAccess, withPartitions, type AccessFlags } from './access.js';
import { begun, comparisonGoesOn } from './interrupted.js';
import { optionalRangeArgument } from './ranges.js';
import { jobResult, stillRunning } from './waiting.js';

interface VerifyFlags extends AccessFlags {
  readonly repair?: boolean;
  readonly rate?: number;
  readonly anew?: boolean;
}

const rateMax = 100_000_000;

export function partitionVerifyCommand(): Command {
  const command = new Command('verify')
    .summary('compare the map of ranges with what the stores have')
    .description(
      'Compare the map of ranges with what all stores have: that the store of each range serves it, ' +
        'and no other, that nothing is where nobody reads it, that no version is ahead of its store, ' +
        'and that entities and messages have their table or queue. Changes nothing without ' +
        '--repair. Exit code 0: all agrees, or was repaired; 1: it does not, and the lines ' +
        'say where; 3: what was compared agrees, and operations work on other ranges.',
    )
    .addArgument(optionalRangeArgument('range', 'only this range, by its number'))
    .option(
      '--repair',
      'delete what a store has of ranges that another one serves: nobody reads it',
    )
    .addOption(
      new Option('--rate <keys>', 'keys a second, at most. Default: 100000').argParser(
        wholeNumber(1, rateMax),
      ),
    )
    .option(
      '--anew',
      'compare all again. Default: go on where the last one was when its process was killed, within ' +
        'a day of its beginning',
    );
  return withAccess(command)
    .addHelpText(
      'after',
      `
Examples:
  tabularium partition verify --control-port 10009
  tabularium partition verify 5 --rate 10000 --repair --control-port 10009`,
    )
    .action((range: number | undefined, flags: VerifyFlags) =>
      withPartitions(flags, async (control, access) => {
        const choice: VerifyChoice = {
          ...(range !== undefined && { range }),
          ...(flags.repair === true && { repair: true }),
          ...(flags.rate !== undefined && { keysPerSecond: flags.rate }),
          ...(flags.anew === true && { anew: true }),
        };
        const { job } = await begun(control.verify(choice));
        const interrupted = comparisonGoesOn(access, choice);
        show(await jobResult(control, job, isVerifyResult, interrupted), flags.json === true);
      }),
    );
}

function show(result: VerifyResult, json: boolean): void {
  const { findings, repaired, notCompared = [], begun } = result;
  if (begun !== undefined && !json) {
    notice(
      `What was compared from ${begun} on by one that did not end is part of this. --anew compares ` +
        'all again.',
    );
  }
  if (json) process.stdout.write(`${jsonLine(result)}\n`);
  else {
    for (const finding of repaired) process.stdout.write(`Repaired: ${printable(finding)}\n`);
    for (const finding of [...findings, ...notCompared]) {
      process.stdout.write(`${printable(finding)}\n`);
    }
  }
  if (findings.length > 0) {
    throw new CommandFailure(`Map and stores differ in ${counted(findings.length, 'place')}.`);
  }
  if (notCompared.length > 0) process.exitCode = stillRunning;
  if (json) return;
  const rest = notCompared.length > 0 ? 'All else agrees' : 'Map and stores agree';
  process.stdout.write(`${rest}.\n`);
}
