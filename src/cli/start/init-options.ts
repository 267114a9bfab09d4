import { Option } from 'commander';

export interface InitFlags {
  /** The seed file. */
  readonly init?: string;
}

export function initOptions(): Option[] {
  return [
    new Option(
      '--init <file>',
      'make the tables, entities, queues and messages of this seed file, as far as they are absent, ' +
        'before the server listens',
    ).env('TABULARIUM_INIT'),
  ];
}
