import type { Command } from 'commander';
import type { OpenPartitions } from '../../app/open-partitions.js';
import type { ServerOptions } from '../../app/options/table.js';
import { optionRows } from '../../app/options/table.js';
import type { ServerSettings } from '../../app/settings.js';
import { PartitionRefusal, type PartitionControl } from '../../http/control/partitions.js';
import { configOption, controlPortOption } from '../arguments/shared-options.js';
import { CommandFailure, messageOf, UsageError } from '../terminal/failure.js';
import { jsonLine, printable } from '../terminal/terminal.js';
import { attributeOf, isSwitch } from '../start/flags.js';
import { GivenFlags, type FoundFlags } from '../start/given-flags.js';
import { RemotePartitions } from './remote.js';

export interface AccessFlags {
  readonly controlPort?: number;
  readonly config?: string;
  readonly json?: boolean;
}

/** Ranges, of a server that runs or of stores that this process has opened. */
export interface PartitionAccess {
  readonly control: PartitionControl;
  /** Whether this process carries out the operations, which then stop when it ends. */
  readonly doesWork: boolean;
  close(): Promise<void>;
}

/** Adds the options that select the server or the stores of a command. */
export function withAccess(command: Command): Command {
  return command
    .addOption(controlPortOption('the control API of the server that has the ranges'))
    .addOption(
      configOption(
        'the configuration of the server: its controlPort, or its stores when it has none, which ' +
          'this command then opens itself',
      ),
    )
    .option('--json', 'print JSON');
}

/** How stores are opened that this process opens itself. */
interface Opening {
  /** Stores that need not be there, because they are to be removed as lost. */
  readonly without?: readonly string[];
  /**
   * Stores that are to be removed: one whose location is another, or was not given, is left out.
   */
  readonly removing?: readonly string[];
}

/** Throws `UsageError` when the options select neither a server nor stores. */
export async function accessOf(
  { controlPort, config }: AccessFlags,
  opening: Opening = {},
): Promise<PartitionAccess> {
  if (controlPort !== undefined) return remote(controlPort);
  if (config === undefined) {
    throw new UsageError(
      'Say which server has the ranges: --control-port PORT, or --config FILE with its ' +
        'configuration.',
    );
  }
  const options = await optionsOf(config);
  if (options.controlPort !== undefined && options.controlPort !== 0) {
    return remote(options.controlPort);
  }
  return local(options, opening);
}

/** Runs a command on ranges; a refusal is wrong usage. */
export async function withPartitions(
  flags: AccessFlags,
  work: (control: PartitionControl, access: PartitionAccess) => Promise<void>,
  opening: Opening = {},
): Promise<void> {
  const access = await accessOf(flags, opening);
  try {
    await work(access.control, access);
  } catch (error) {
    throw error instanceof PartitionRefusal ? new UsageError(error.message) : error;
  } finally {
    await access.close();
  }
}

/** Prints a result: the text, or the facts where JSON was asked for. */
export function tell({ json }: AccessFlags, facts: object, text: string): void {
  const shown = json === true ? jsonLine(facts) : printable(text);
  process.stdout.write(`${shown}\n`);
}

function remote(port: number): PartitionAccess {
  const control = new RemotePartitions(port);
  return { control, doesWork: false, close: () => Promise.resolve() };
}

async function optionsOf(config: string): Promise<ServerOptions> {
  const { planStart } = await import('../start/plan.js');
  const plan = await planStart(new GivenFlags(foundFlags(config), process.env));
  return plan.settings.options;
}

/** As `start --config FILE` finds them, with its variables. */
function foundFlags(config: string): FoundFlags {
  const found = new Map<string, { readonly value: string; readonly source: string }>();
  for (const [, { flags = [] }] of optionRows()) {
    for (const flag of flags) {
      const value = flag.variable === undefined ? undefined : process.env[flag.variable];
      if (value === undefined || isSwitch(flag) || flag.form.startsWith('texts')) continue;
      found.set(attributeOf(flag), { value, source: 'env' });
    }
  }
  found.set('config', { value: config, source: 'cli' });
  return {
    getOptionValue: (attribute) => found.get(attribute)?.value,
    getOptionValueSource: (attribute) => found.get(attribute)?.source,
  };
}

async function local(options: ServerOptions, opening: Opening): Promise<PartitionAccess> {
  const { settingsOf } = await import('../../app/settings.js');
  const { Partitions } = await import('../../app/partition-control.js');
  const open = await openStores(settingsOf({ ...options }), opening);
  return { control: new Partitions(open), doesWork: true, close: () => open.close() };
}

/** Opens the stores beside a server where their engine allows it, otherwise as their only user. */
async function openStores(settings: ServerSettings, opening: Opening): Promise<OpenPartitions> {
  const { openPartitions } = await import('../../app/open-partitions.js');
  const { stores } = settings;
  if (stores === undefined) {
    throw new UsageError(
      'The configuration names no stores: all data are in one location. Write stores: {} for none yet.',
    );
  }
  try {
    return await openPartitions({ ...settings, stores }, 'join', opening).catch(
      (error: unknown) => {
        if (!isWithoutOwner(error)) throw error;
        return openPartitions({ ...settings, stores }, 'exclusive', opening);
      },
    );
  } catch (error) {
    throw new CommandFailure(
      `${messageOf(error)} Where a server runs, ask it: start it with --control-port PORT.`,
      { cause: error },
    );
  }
}

function isWithoutOwner(error: unknown): boolean {
  return error instanceof Error && 'reason' in error && error.reason === 'no-owner';
}
