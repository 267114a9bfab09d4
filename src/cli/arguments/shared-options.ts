import { Option } from 'commander';
import { portMax } from '../../app/options/addresses.js';
import type { Flag } from '../../app/options/option.js';
import { optionTable, processTable } from '../../app/options/table.js';
import { UsageError } from '../terminal/failure.js';
import { wholeNumber } from './option-parsers.js';

// Options of other commands that `tabularium start` has as well: with the same name and variable.

/** `--location` of the commands that work on a data directory without a server. */
export function locationOption(what: string): Option {
  const { location } = optionTable;
  return shared(location, what).argParser(pathOf).default(location.startDefault);
}

/** `--control-port` of the commands that ask a server that runs. */
export function controlPortOption(what: string): Option {
  return shared(optionTable.controlPort, what).argParser(wholeNumber(1, portMax));
}

/** `--config` of the commands that read the configuration of a server. */
export function configOption(what: string): Option {
  return shared(processTable.config, what);
}

function shared(
  { flags: [flag] = [] }: { readonly flags?: readonly Flag[] },
  what: string,
): Option {
  const { spelling = '', variable = '' } = flag ?? {};
  return new Option(spelling, what).env(variable);
}

/**
 * Refuses an empty path, which would mean the working directory and usually comes from an unset
 * variable.
 */
function pathOf(text: string): string {
  if (text !== '') return text;
  throw new UsageError('--location is empty: give a value, or leave it out.');
}
