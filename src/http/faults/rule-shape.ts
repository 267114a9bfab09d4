import {
  choice,
  either,
  list,
  member,
  number,
  object,
  text,
  whole,
  type Shape,
} from '../../base/shape/shape.js';
import { serviceNames } from '../../model/services/services.js';
import {
  faultEffectKinds,
  faultErrorCodes,
  type FaultErrorCode,
  type FaultPattern,
  type FaultRange,
  type FaultRule,
} from './rule.js';

const latencyMsMax = 600_000;
const retryAfterSecondsMax = 3600;
const patternCharactersMax = 2048;
const patternsMax = 100;
const effectsMax = 10;
const seedMax = 2 ** 32 - 1;
/** A limit on the rules, because each is tried for every request. */
export const rulesMax = 1000;

/** The members of any effect; `parseEffect` checks which belong to which kind. */
export interface FaultEffectInput {
  readonly kind: (typeof faultEffectKinds)[number];
  readonly code?: FaultErrorCode;
  readonly retryAfterSeconds?: number;
  readonly bytes?: number;
  readonly ms?: number | FaultRange;
}

/** A rule whose effects may still have members of another kind. */
export type FaultRuleInput = Omit<FaultRule, 'effect'> & {
  readonly effect: FaultEffectInput | readonly FaultEffectInput[];
};

const onePattern = text({ charactersMin: 0, charactersMax: patternCharactersMax });
const pattern: Shape<FaultPattern> = either(
  [onePattern, list(onePattern, { min: 1, max: patternsMax })],
  {
    expected: `a text of at most ${patternCharactersMax} characters, or a list of 1 to ${patternsMax}`,
    definition: {
      name: 'faultPattern',
      description:
        'A text in which * stands for any text and ? for any character, or a list of some.',
    },
  },
);

const milliseconds = number(0, latencyMsMax);
const range: Shape<FaultRange> = object<FaultRange>(
  {
    min: member(milliseconds, 'The shortest delay, in milliseconds.', 50),
    max: member(milliseconds, 'The longest delay, in milliseconds.', 500),
  },
  { required: ['min', 'max'] },
);

const effect: Shape<FaultEffectInput> = object<FaultEffectInput>(
  {
    kind: member(
      choice(faultEffectKinds),
      'What happens: an error instead of the work; the work, but no answer; a connection that is ' +
        'reset; an answer that ends early; a delay.',
      'error',
    ),
    code: member(choice(faultErrorCodes), 'The code of the error.', 'ServerBusy'),
    retryAfterSeconds: member(
      whole(0, retryAfterSecondsMax),
      'After how many seconds the client is told to try again.',
      1,
    ),
    bytes: member(whole(0), 'Of the body, before the connection closes.', 100),
    ms: member(
      either([milliseconds, range], {
        expected: `a number from 0 to ${latencyMsMax} (milliseconds), or {min, max}`,
      }),
      'Milliseconds, or {min, max}.',
      { min: 50, max: 500 },
    ),
  },
  {
    required: ['kind'],
    expected: `an object with kind ${faultEffectKinds.join(', ')}`,
    definition: { name: 'faultEffect', description: 'What a fault does to a request.' },
  },
);

/** The shape of a rule, without a check of the operation names. */
export const faultRuleShape: Shape<FaultRuleInput> = object<FaultRuleInput>(
  {
    name: member(
      text({
        pattern: /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/,
        expected: '1 to 100 letters, digits and . _ -, the first no sign',
      }),
      'Stands in records and logs.',
      'slow-inserts',
    ),
    service: member(choice(serviceNames), 'Requests to this service alone.', 'table'),
    operation: member(pattern, 'Names of docs/reference/compatibility.md.', 'InsertEntity'),
    method: member(pattern, 'The method of the request, as on its request line.', 'GET'),
    account: member(pattern, 'The name of the account.', 'orders'),
    table: member(pattern, 'The name of the table, in any case.', 'people*'),
    queue: member(pattern, 'The name of the queue.', 'work'),
    container: member(pattern, 'The name of the container of blobs.', 'photos'),
    blob: member(pattern, 'The name of the blob.', 'cats/*'),
    partitionKey: member(pattern, 'The PartitionKey of an entity that the request names.', 'a'),
    rowKey: member(pattern, 'The RowKey of an entity that the request names.', '1'),
    probability: member(number(0, 1), 'Default: 1.', 0.1),
    seed: member(whole(0, seedMax), 'Makes probability and latency the same in every run.', 7),
    skip: member(whole(0), 'How many fitting requests pass first.', 2),
    count: member(whole(1), 'How often it fires, at most.', 5),
    effect: member(
      either([list(effect, { min: 1, max: effectsMax }), effect], {
        expected:
          `an object with kind ${faultEffectKinds.join(', ')}, or a list of 1 to ${effectsMax} ` +
          'of these',
      }),
      'One effect, or several: latencies and at most one other.',
      { kind: 'latency', ms: 200 },
    ),
  },
  {
    required: ['effect'],
    definition: {
      name: 'faultRule',
      description:
        'Which requests meet a fault, and which. Members that are absent fit every request.',
    },
  },
);

export const faultRulesShape = list(faultRuleShape, {
  max: rulesMax,
  expected: `a list of rules, at most ${rulesMax}`,
});
