import { Option } from 'commander';

/** `--location`, of the server and of the commands that work on a data directory without one. */
export function locationOption(what: string): Option {
  return new Option('-l, --location <directory>', what)
    .env('TABULARIUM_LOCATION')
    .default('./.tabularium');
}
