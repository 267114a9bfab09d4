import { Option, type Command } from 'commander';

/**
 * A flag of Azurite without an equivalent. It is accepted, so that existing scripts keep working,
 * with a note about what applies instead.
 */
interface AzuriteFlag {
  readonly flags: string;
  readonly message: string;
}

const azuriteFlags: readonly AzuriteFlag[] = [
  {
    flags: '-L, --loose',
    message: 'requests are checked as the cloud service checks them; --lenient says what may pass',
  },
  {
    flags: '--skipApiVersionCheck',
    message: 'every x-ms-version is accepted, unless --strict-api-versions is given',
  },
  {
    flags: '--disableTelemetry',
    message: 'there is no telemetry to disable',
  },
  {
    flags: '--disableProductStyleUrl',
    message: 'a known account in the path always goes before one in the host name',
  },
  {
    flags: '--extentMemoryLimit <megabytes>',
    message: 'blobs in memory have no limit of their own',
  },
];

export function addAzuriteFlags(command: Command): void {
  for (const { flags, message } of azuriteFlags) {
    command.addOption(new Option(flags, message).helpGroup('Flags of Azurite without use here:'));
  }
}

/** The notes for the flags on the command line, by option name. */
export function azuriteFlagNotes(isOnLine: (attribute: string) => boolean): string[] {
  const notes: string[] = [];
  for (const { flags: spelling, message } of azuriteFlags) {
    const option = new Option(spelling);
    if (!isOnLine(option.attributeName())) continue;
    notes.push(`${option.long} has no effect: ${message}.`);
  }
  return notes;
}
