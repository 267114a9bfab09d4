import type { KeyPart } from '../../definition/key-part.js';
import type { KeyTemplate } from '../../definition/key-template.js';
import type { Properties, PropertyKind } from '../../definition/property.js';
import { Instant } from '../../rows/instant.js';
import type { FactsByName, PropertyFacts } from './property-facts.js';
import { spreadOf } from './spread.js';

/** The end of the key order to which new entities go. */
export type Direction = 'append' | 'prepend';

/** The part of a key that makes each new key follow, or precede, the last one. */
export interface MovingPart {
  readonly property: string;
  readonly direction: Direction;
  /**
   * `declared`: the workload says so; `moment`: it is a date; `number`: it may be a sequence
   * number; `name`: a text whose name says that it may be a time.
   */
  readonly evidence: 'declared' | 'moment' | 'number' | 'name';
  /**
   * The greatest share of new keys that follow one another, 0 to 1: 1 when the part leads the key,
   * else the share of the most frequent values before it. Undefined when those are unknown.
   */
  readonly share: number | undefined;
}

/** The first part of a key that moves with time; undefined when none does. */
export function movingPart(
  { parts }: KeyTemplate,
  properties: Properties,
  facts: FactsByName,
): MovingPart | undefined {
  let share: number | undefined = 1;
  for (const part of parts) {
    const kind = properties[part.property]?.model.kind;
    const known = facts[part.property] ?? {};
    const found = kind === undefined ? undefined : motionOf(part, kind, known);
    if (found !== undefined) return { property: part.property, ...found, share };
    share = times(share, greatestShare(part, properties, facts));
  }
  return undefined;
}

function times(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined || right === undefined ? undefined : left * right;
}

function greatestShare(
  { property }: KeyPart,
  properties: Properties,
  facts: FactsByName,
): number | undefined {
  const told = facts[property]?.values;
  if (told !== undefined) return spreadOf(told).greatest;
  const values = properties[property]?.model.values ?? [];
  return values.length === 0 ? undefined : 1 / values.length;
}

const timeWords: ReadonlySet<string> = new Set(
  'date day hour minute month period quarter time timestamp week year'.split(' '),
);

/** Whether the last word of a name is one of time, as in `loginDay` or `created_date`. */
function isNameOfTime(name: string): boolean {
  const words = name.split(/(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z]+/).filter((word) => word !== '');
  return timeWords.has((words.at(-1) ?? '').toLowerCase());
}

function motionOf(
  part: KeyPart,
  kind: PropertyKind,
  { order, values, isTime = false }: PropertyFacts,
): Pick<MovingPart, 'direction' | 'evidence'> | undefined {
  if (order === 'random') return undefined;
  const isMoment = kind === 'instant' || kind === 'dateTime' || (kind === 'string' && isTime);
  // A number with few values, such as that of a bucket, is no counter.
  const isNumber = (kind === 'int32' || kind === 'int64') && values === undefined;
  const isNamed = kind === 'string' && isNameOfTime(part.property);
  if (order === undefined && !isMoment && !isNumber && !isNamed) return undefined;
  const isTurned = !isAscending(part, kind);
  const direction = (order === 'decreasing') === isTurned ? 'append' : 'prepend';
  if (order !== undefined) return { direction, evidence: 'declared' };
  return { direction, evidence: isMoment ? 'moment' : isNumber ? 'number' : 'name' };
}

/** Whether greater values have greater keys in this format. */
function isAscending({ format }: KeyPart, kind: PropertyKind): boolean {
  const [less, more] = samplesOf(kind);
  return less === undefined || format.format(less) < format.format(more);
}

function samplesOf(kind: PropertyKind): readonly unknown[] {
  switch (kind) {
    case 'int32':
      return [1, 2];
    case 'int64':
      return [1n, 2n];
    case 'instant':
      return [Instant.parse('2001-01-01'), Instant.parse('2002-01-01')];
    case 'dateTime':
      return [new Date(0), new Date(1000)];
    default:
      return [];
  }
}
