import { bucketOf } from './hashes/text-hash.js';
import { listRouting, shardOfText, type ListRouting, type ShardRouting } from './shard-routing.js';
import { refused, type Refusal } from './systems/refusal.js';

/** The region of each shard or of each text, by name. */
export type Regions = Readonly<Record<string, string>>;

/**
 * A list that assigns every text to a shard of its region; by its hash where a region has several.
 * `otherwise`: the shard of texts that are not listed. Refused: a text whose region has no shard.
 */
export function regionalRouting(
  shards: Regions,
  texts: Regions,
  otherwise?: string,
): { readonly kind: 'routing'; readonly routing: ListRouting } | Refusal {
  const found = new Map<string, string>();
  for (const [text, region] of Object.entries(texts)) {
    const near = shardsIn(shards, region);
    const shard = near[near.length === 0 ? 0 : bucketOf(text, near.length)];
    if (shard === undefined) {
      return refused('unknown-name', `'${text}' is of ${region}, where no shard is; add one there`);
    }
    found.set(text, shard);
  }
  return Object.freeze({ kind: 'routing', routing: listRouting(found, otherwise) });
}

function shardsIn(shards: Regions, region: string): readonly string[] {
  return Object.keys(shards)
    .filter((shard) => shards[shard] === region)
    .sort();
}

/** A text whose shard is in another region than it is. */
export interface MisplacedText {
  readonly text: string;
  readonly region: string;
  readonly shard: string;
  /** Undefined: the region of the shard is not known. */
  readonly shardRegion: string | undefined;
}

/** Texts that a routing sends to another region than theirs, in their order. */
export function misplacedTexts(
  routing: ShardRouting,
  shards: Regions,
  texts: Regions,
): readonly MisplacedText[] {
  const far = Object.entries(texts).flatMap(([text, region]) => {
    const shard = shardOfText(routing, text);
    if (shard === undefined) return [];
    const shardRegion = Object.hasOwn(shards, shard) ? shards[shard] : undefined;
    return shardRegion === region ? [] : [Object.freeze({ text, region, shard, shardRegion })];
  });
  return Object.freeze(far);
}
