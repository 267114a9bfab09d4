import { Option } from 'commander';
import { UsageError } from './failure.js';

/** `--location`, of the server and of the commands that work on a data directory without one. */
export function locationOption(what: string): Option {
  return new Option('-l, --location <directory>', what)
    .env('TABULARIUM_LOCATION')
    .argParser(pathOf)
    .default('./.tabularium');
}

/** An empty path would be the working directory: nobody who leaves a variable unset means that. */
function pathOf(text: string): string {
  if (text !== '') return text;
  throw new UsageError('--location is empty: give a value, or leave it out.');
}
