import { Option } from 'commander';
import { optionTable } from '../../app/options/table.js';
import { UsageError } from '../terminal/failure.js';

/** `--location` of the commands that work on a data directory without a server. */
export function locationOption(what: string): Option {
  const { flags: [flag] = [], startStandard } = optionTable.location;
  const { spelling = '', variable = '' } = flag ?? {};
  return new Option(spelling, what).env(variable).argParser(pathOf).default(startStandard);
}

/**
 * Refuses an empty path, which would mean the working directory and usually comes from an unset
 * variable.
 */
function pathOf(text: string): string {
  if (text !== '') return text;
  throw new UsageError('--location is empty: give a value, or leave it out.');
}
