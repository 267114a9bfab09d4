import { Option, type Command } from 'commander';
import { UsageError } from '../failure.js';

/**
 * What Azurite's command line has and ours does not, so that existing scripts keep working or learn
 * why not. `noted`: accepted, and one line says what holds here instead. `refused`: ignoring it
 * would be unsafe, so the server does not start; the message says what to do.
 */
interface PeerFlag {
  readonly flags: string;
  readonly effect: 'noted' | 'refused';
  readonly message: string;
}

const noBlobs = 'only tables and queues are served here';

const peerFlags: readonly PeerFlag[] = [
  ...['Host [address]', 'Port <port>', 'KeepAliveTimeout <seconds>'].map((flag): PeerFlag => ({
    flags: `--blob${flag}`,
    effect: 'noted',
    message: noBlobs,
  })),
  {
    flags: '-L, --loose',
    effect: 'noted',
    message: 'requests are checked as the cloud service checks them; --lenient says what may pass',
  },
  {
    flags: '--skipApiVersionCheck',
    effect: 'noted',
    message: 'every x-ms-version is accepted, unless --strict-api-versions is given',
  },
  {
    flags: '--disableTelemetry',
    effect: 'noted',
    message: 'there is no telemetry to disable',
  },
  {
    flags: '--disableProductStyleUrl',
    effect: 'noted',
    message: 'a known account in the path always goes before one in the host name',
  },
  {
    flags: '--extentMemoryLimit <megabytes>',
    effect: 'noted',
    message: `it limits blobs, and ${noBlobs}`,
  },
];

export function addPeerFlags(command: Command): void {
  for (const { flags, effect, message } of peerFlags) {
    command.addOption(
      new Option(flags, `${effect}: ${message}`).helpGroup('Flags of Azurite without use here:'),
    );
  }
}

/**
 * The notes to print about flags that were given. Throws `UsageError` for the first refused one.
 * `isGiven` tells whether an option with this attribute name was on the command line.
 */
export function peerFlagNotes(isGiven: (attribute: string) => boolean): string[] {
  const notes: string[] = [];
  for (const { flags, effect, message } of peerFlags) {
    const option = new Option(flags);
    if (!isGiven(option.attributeName())) continue;
    if (effect === 'refused') throw new UsageError(`${option.long} is refused: ${message}.`);
    notes.push(`${option.long} has no effect: ${message}.`);
  }
  return notes;
}
