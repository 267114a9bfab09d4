import { Option } from 'commander';
import type { ControlOptions } from '../../app/index.js';
import { UsageError } from '../failure.js';
import { wholeNumber } from '../option-parsers.js';

export interface ControlFlags {
  readonly controlPort?: number;
}

const portMax = 65_535;

export function controlOptions(): Option[] {
  return [
    new Option(
      '--control-port <port>',
      'let programs of this machine control the server there: faults, limits, reset, snapshots; ' +
        '0 picks a free port',
    )
      .helpGroup('To test how clients take failures:')
      .env('TABULARIUM_CONTROL_PORT')
      .argParser(wholeNumber(0, portMax)),
  ];
}

/** Throws `UsageError`. */
export function controlSettings({
  controlPort,
  workers,
}: ControlFlags & { readonly workers: number }): ControlOptions {
  if (controlPort === undefined) return {};
  if (workers > 1) {
    throw new UsageError(
      `--control-port controls one process, and --workers ${workers} starts several: leave one of ` +
        'them out.',
    );
  }
  return { controlPort };
}
