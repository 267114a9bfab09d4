import { InvalidArgumentError, Option } from 'commander';
import type { FaultRule, InterferenceOptions, ThrottleSetting } from '../../app/index.js';
import { messageOf } from '../failure.js';

export interface InterferenceFlags {
  readonly fault?: readonly FaultRule[];
  readonly throttle?: ThrottleSetting;
}

const group = 'To test how clients take failures:';

export function interferenceOptions(): Option[] {
  const options = [
    new Option(
      '--fault <rule>',
      'let requests meet a fault, as a rule in JSON says; may be repeated',
    ).argParser(parseFault),
    new Option(
      '--throttle <limits>',
      'refuse requests beyond the limits of the cloud service (azure), or beyond limits in JSON',
    )
      .env('TABULARIUM_THROTTLE')
      .argParser(parseThrottle),
  ];
  return options.map((option) => option.helpGroup(group));
}

export function interferenceSettings({ fault, throttle }: InterferenceFlags): InterferenceOptions {
  return {
    ...(fault === undefined ? {} : { faults: fault }),
    ...(throttle === undefined ? {} : { throttle }),
  };
}

/** What is not as in everyday use, as lines of the banner. */
export function interferenceLines({
  faults = [],
  throttle = 'off',
}: InterferenceOptions): string[] {
  const limits = typeof throttle === 'string' ? throttle : JSON.stringify(throttle);
  return [
    ...(faults.length === 0
      ? []
      : [`  Faults      ${faults.length} ${faults.length === 1 ? 'rule' : 'rules'}`]),
    ...(throttle === 'off' ? [] : [`  Throttle    ${limits}`]),
  ];
}

/** The server checks what a rule says. */
function parseFault(text: string, before: readonly FaultRule[] = []): readonly FaultRule[] {
  return [...before, jsonOf(text) as FaultRule];
}

function parseThrottle(text: string): ThrottleSetting {
  if (text === 'azure' || text === 'off') return text;
  if (text.trimStart().startsWith('{')) return jsonOf(text) as ThrottleSetting;
  throw new InvalidArgumentError(
    'It must be azure, off, or limits in JSON such as {"entitiesPerSecondPerPartition":100}.',
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InvalidArgumentError(`It must be JSON: ${messageOf(error)}.`);
  }
}
