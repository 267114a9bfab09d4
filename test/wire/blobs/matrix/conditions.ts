import type { TableOperation } from './operations.js';

// What blob-service §9 says of conditions, without code of the server.

/** What each header has. `own`: the etag of the blob, or the second in which it was modified. */
export interface Conditions {
  readonly match?: 'own' | 'other' | 'any' | 'several' | undefined;
  readonly noneMatch?: 'own' | 'other' | 'any' | 'several' | undefined;
  readonly modifiedSince?: 'own' | 'before' | undefined;
  readonly unmodifiedSince?: 'own' | 'before' | undefined;
  readonly tags?: 'same' | 'other' | undefined;
}

export type Presence = 'absent' | 'uncommitted' | 'there';

const etags = [undefined, 'own', 'other', 'any', 'several'] as const;
const times = [undefined, 'own', 'before'] as const;

export const allConditions: readonly Conditions[] = etags.flatMap((match) =>
  etags.flatMap((noneMatch) =>
    times.flatMap((modifiedSince) =>
      times.flatMap((unmodifiedSince) =>
        ([undefined, 'same', 'other'] as const).map((tags) => {
          return { match, noneMatch, modifiedSince, unmodifiedSince, tags };
        }),
      ),
    ),
  ),
);

export interface Stamp {
  readonly etag: string;
  /** Milliseconds since 1970. */
  readonly modifiedMs: number;
}

const other = '"0x8D000000000000A"';

/** The headers of a request about a blob with this stamp. `prefix`: `x-ms-source-` or nothing. */
export function headersOf(
  conditions: Conditions,
  { etag, modifiedMs }: Stamp,
  prefix = '',
): Record<string, string> {
  const etagTexts = { own: etag, other, any: '*', several: `${other}, ${etag}` };
  const dateTexts = {
    own: new Date(modifiedMs).toUTCString(),
    before: new Date(modifiedMs - 1_000).toUTCString(),
  };
  const { match, noneMatch, modifiedSince, unmodifiedSince, tags } = conditions;
  const tagsName = prefix === '' ? 'x-ms-if-tags' : `${prefix}if-tags`;
  return {
    ...(match && { [`${prefix}If-Match`]: etagTexts[match] }),
    ...(noneMatch && { [`${prefix}If-None-Match`]: etagTexts[noneMatch] }),
    ...(modifiedSince && { [`${prefix}If-Modified-Since`]: dateTexts[modifiedSince] }),
    ...(unmodifiedSince && { [`${prefix}If-Unmodified-Since`]: dateTexts[unmodifiedSince] }),
    ...(tags && { [tagsName]: tags === 'same' ? `"k" = 'v'` : `"k" = 'w'` }),
  };
}

/** A version in which everything of the table holds. */
const newest = '2021-12-02';

/** `met`, or the status and the code of the refusal. */
export type Outcome = string;

export function outcomeOf(
  { use, conditions: taken, seesUncommitted }: TableOperation,
  given: Conditions,
  presence: Presence,
  version = newest,
): Outcome {
  const standard = taken === 'all' ? given : {};
  const conditions = { ...standard, tags: taken === 'none' ? undefined : given.tags };
  const malformed =
    use === 'read' ? malformedRead(conditions, version) : malformedWrite(conditions);
  if (malformed !== undefined) return malformed;
  const isThere = presence === 'there' || (presence === 'uncommitted' && seesUncommitted === true);
  if (!isThere && (use === 'read' || use === 'change')) return '404 BlobNotFound';
  if (presence !== 'there') {
    // It has no tags yet.
    if (use === 'read' && given.tags !== undefined) return '412 ConditionNotMet';
    return conditions.match === undefined ? 'met' : '412 ConditionNotMet';
  }
  return use === 'read' ? ofRead(conditions, version) : ofWrite(conditions, use);
}

/** Before this version reads take the combinations that writes take. */
const manySince = '2013-08-15';

function malformedRead(conditions: Conditions, version: string): Outcome | undefined {
  if (version < manySince) return malformedWrite(conditions);
  const isUnsatisfiable = conditions.noneMatch === 'any' && version >= '2016-05-31';
  return isUnsatisfiable ? '400 UnsatisfiableCondition' : undefined;
}

function malformedWrite(conditions: Conditions): Outcome | undefined {
  const { match, noneMatch, modifiedSince, unmodifiedSince } = conditions;
  const several = '400 MultipleConditionHeadersNotSupported';
  if (match === 'several' || noneMatch === 'several') return several;
  const sent = [match, noneMatch, modifiedSince, unmodifiedSince].filter(Boolean).length;
  if (sent < 2) return undefined;
  const isPair =
    sent === 2 &&
    ((match !== undefined && unmodifiedSince !== undefined) ||
      (noneMatch !== undefined && modifiedSince !== undefined));
  return isPair ? undefined : several;
}

const matches = { own: true, any: true, several: true, other: false } as const;

function ofRead(conditions: Conditions, version: string): Outcome {
  const { match, noneMatch, modifiedSince, unmodifiedSince, tags } =
    version < manySince ? deciding(conditions) : conditions;
  const isRefused =
    (match !== undefined && !matches[match]) || unmodifiedSince === 'before' || tags === 'other';
  if (isRefused) return '412 ConditionNotMet';
  if (noneMatch === undefined && modifiedSince === undefined) return 'met';
  const isOther = noneMatch !== undefined && !matches[noneMatch];
  return isOther || modifiedSince === 'before' ? 'met' : '304 ConditionNotMet';
}

/** Of two that may stand together, the etag. */
function deciding({ match, noneMatch, modifiedSince, unmodifiedSince }: Conditions): Conditions {
  if (match !== undefined) return { match };
  return noneMatch === undefined ? { modifiedSince, unmodifiedSince } : { noneMatch };
}

function ofWrite(conditions: Conditions, use: TableOperation['use']): Outcome {
  const { match, noneMatch, modifiedSince, unmodifiedSince, tags } = conditions;
  if (noneMatch === 'any' && use === 'create') return '409 BlobAlreadyExists';
  const isSame = match === undefined ? unmodifiedSince !== 'before' : matches[match];
  const isOther = noneMatch === undefined ? modifiedSince !== 'own' : !matches[noneMatch];
  return isSame && isOther && tags !== 'other' ? 'met' : '412 ConditionNotMet';
}
