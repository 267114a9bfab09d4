import { unreachable } from '../base/invariant.js';
import { bucketOf } from './hashes/text-hash.js';
import {
  hashRoutingOf,
  listRouting,
  rangeRouting,
  slotsFault,
  type ShardRange,
  type ShardRouting,
  withRange,
  withTexts,
} from './shard-routing.js';

/** A text, and the shard where it was found. */
export interface FoundText {
  readonly text: string;
  readonly shard: string;
  /**
   * A partition that a map had begun to bring to this shard, or to open there, and that is open on
   * none: the shard may have a part of its rows. Absent where it has other rows of the text too.
   */
  readonly begun?: string;
}

/** The kind of routing to rebuild, with the settings that found texts do not determine. */
export type RoutingKind =
  /** `otherwise`: the shard of texts that are not named; undefined: they have none. */
  | { readonly kind: 'list'; readonly otherwise?: string }
  /**
   * A range extends to the next text on another shard. `first`: the shard when no text was found.
   */
  | { readonly kind: 'range'; readonly first: string }
  /** `otherwise`: the shard of slots without a text. */
  | { readonly kind: 'hash'; readonly slots: number; readonly otherwise: string };

/**
 * A routing by which every text is where it was found, such as after the map was lost. The fault as
 * a text when there is none: two shards have one text, or texts of one slot. Of one text it says
 * which of them may have a part alone.
 */
export function rebuiltRouting(
  found: readonly FoundText[],
  wanted: RoutingKind,
): ShardRouting | string {
  const texts = new Map<string, FoundText>();
  for (const each of found) {
    const known = texts.get(each.text);
    if (known !== undefined && known.shard !== each.shard) {
      return twice(`'${each.text}'`, known.shard, each.shard) + partOf(known, each);
    }
    if (known?.begun !== undefined || known === undefined) texts.set(each.text, each);
  }
  const shards = new Map([...texts.values()].map(({ text, shard }) => [text, shard]));
  switch (wanted.kind) {
    case 'list':
      return listRouting(elsewhere(shards, wanted.otherwise), wanted.otherwise);
    case 'range':
      return rangeRouting(rangesOf(shards, wanted.first));
    case 'hash':
      return slotsOf(shards, wanted.slots, wanted.otherwise);
    default:
      return unreachable(wanted);
  }
}

/**
 * The texts that are not on the default shard: a list need not name the others, which may be many.
 */
function elsewhere(
  shards: ReadonlyMap<string, string>,
  otherwise: string | undefined,
): ReadonlyMap<string, string> {
  return new Map([...shards].filter(([, shard]) => shard !== otherwise));
}

function twice(what: string, one: string, other: string): string {
  return `${what} is on '${one}' and on '${other}'; bring it to one of them first`;
}

/** Which of two places may have only a part of the rows; empty: neither, or both. */
function partOf(one: FoundText, other: FoundText): string {
  const [part, rest] = one.begun === undefined ? [other, one] : [one, other];
  if (part.begun === undefined || rest.begun !== undefined) return '';
  return (
    `: '${part.begun}' is open on neither, and a map had begun to bring it to '${part.shard}', ` +
    `which may have a part of its rows: delete them there if '${rest.shard}' has all of them`
  );
}

function rangesOf(shards: ReadonlyMap<string, string>, first: string): readonly ShardRange[] {
  const texts = [...shards].sort(([left], [right]) => (left < right ? -1 : 1));
  const [least] = texts;
  if (least === undefined) return [{ from: '', shard: first }];
  return texts.map(([text, shard], index) => ({ from: index === 0 ? '' : text, shard }));
}

function slotsOf(
  shards: ReadonlyMap<string, string>,
  count: number,
  otherwise: string,
): ShardRouting | string {
  const fault = slotsFault(count);
  if (fault !== undefined) return fault;
  const slots: (string | undefined)[] = Array.from({ length: count }, () => undefined);
  for (const [text, shard] of shards) {
    const slot = bucketOf(text, count);
    const known = slots[slot];
    if (known !== undefined && known !== shard) return twice(`slot ${slot}`, known, shard);
    slots[slot] = shard;
  }
  return hashRoutingOf(slots.map((shard) => shard ?? otherwise));
}

/**
 * The same routing with one text on another shard; in a hash routing, with the slot of that text.
 */
export function withTextAt(routing: ShardRouting, text: string, shard: string): ShardRouting {
  switch (routing.kind) {
    case 'list':
      return withTexts(routing, [text], shard);
    case 'range':
      return withRange(routing, { from: text, before: `${text}\0` }, shard);
    case 'hash': {
      const slot = bucketOf(text, routing.slots.length);
      return hashRoutingOf(routing.slots.map((found, at) => (at === slot ? shard : found)));
    }
    default:
      return unreachable(routing);
  }
}
