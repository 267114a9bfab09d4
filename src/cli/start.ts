import { Command, type Help, type Option } from 'commander';
import { openFilesMax, tooFewOpenFiles } from '../base/open-files.js';
import { ignoreLostOutput } from './terminal/closed-output.js';
import { CommandFailure, UsageError } from './terminal/failure.js';
import { preload } from './preload.js';
import { report } from './report.js';
import { addStartOptions } from './start/flags.js';
import { GivenFlags } from './start/given-flags.js';
import type { StartPlan } from './start/plan.js';
import { endProcess } from './start/process-end.js';
import { lenientItemsText } from './start/strictness-options.js';
import { workerNumber } from './start/workers/worker-number.js';
import { notice } from './terminal/notice.js';

export function startCommand(): Command {
  const command = new Command('start')
    .summary('run the table, queue and blob services')
    .description('Run the table, queue and blob services until SIGINT or SIGTERM stops them.');
  addStartOptions(command);
  return command
    .addHelpText('after', () => `\n${lenientItemsText(helpOf(command))}`)
    .addHelpText(
      'after',
      `
Examples:
  tabularium start
  tabularium start --in-memory --table-port 0 --queue-port 0 --log-level debug
  tabularium start --location /var/lib/tabularium --workers 4
  tabularium start --config tabularium.yaml --host 0.0.0.0
  tabularium start --tls self-signed --oauth dev`,
    )
    .hook('preAction', refuseEmptyValues)
    .action(() => start(new GivenFlags(command, process.env)));
}

/**
 * An empty file name is a mistake, and an empty address would mean all networks. A passphrase may
 * be empty.
 */
function refuseEmptyValues(command: Command): void {
  const isEmpty = (option: Option): boolean =>
    option.long !== '--pwd' && command.getOptionValue(option.attributeName()) === '';
  const empty = command.options.find(isEmpty);
  if (empty === undefined) return;
  throw new UsageError(`${empty.long ?? empty.flags} is empty: give a value, or leave it out.`);
}

/** The help formatter of a command, as wide as the terminal. */
function helpOf(command: Command): Help {
  const helper = command.createHelp();
  helper.prepareContext({ helpWidth: command.configureOutput().getOutHelpWidth?.() ?? 80 });
  return helper;
}

async function start(flags: GivenFlags): Promise<void> {
  ignoreLostOutput();
  const worker = workerNumber();
  // Loaded on demand: it takes most of the start-up time of other commands.
  preload('./start/plan.js');
  const { planStart, settingsOf } = await import('./start/plan.js');
  if (worker !== undefined) {
    preload('./start/workers/worker.js');
    const { runWorker } = await import('./start/workers/worker.js');
    return runWorker(settingsOf(flags), worker);
  }
  try {
    const plan = await planStart(flags);
    const { settings } = plan;
    const lack = tooFewOpenFiles(openFilesMax());
    if (lack !== undefined) throw new CommandFailure(lack);
    const { prepareOAuth } = await import('./start/oauth-options.js');
    await prepareOAuth(settings.options);
    for (const note of settings.notes) notice(`Note: ${note}`);
    await (
      await runnerOf(settings.process.workers)
    )(plan);
  } catch (error) {
    await endProcess(report(error));
  }
}

async function runnerOf(workers: number): Promise<(plan: StartPlan) => Promise<never>> {
  preload(workers > 1 ? './start/workers/primary.js' : './start/alone.js');
  if (workers > 1) return (await import('./start/workers/primary.js')).runPrimary;
  return (await import('./start/alone.js')).runAlone;
}
