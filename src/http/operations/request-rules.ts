import { propertyRulesOf, type PropertyRules } from '../../model/edm/property-rules.js';
import type { QueryRules } from '../../wire/odata/query-options.js';
import type { CredentialRules } from '../exchange/credential-rules.js';

/**
 * Behaviours that the cloud service refuses and that programs written against other emulators may
 * rely on. Each can be allowed by name. None affects the check of signatures, the key ranges of a
 * shared access signature, or durability.
 */
export const lenientItems = {
  clock: 'dates of requests are not compared with the clock',
  top: '$top over 1000 asks for a page of 1000',
  'query-options': '$orderby, $skip, $expand, $count and $inlinecount are ignored',
  accept: 'answers are JSON whatever the request accepts',
  'delete-etag': 'Delete Entity without If-Match deletes any version',
  'property-count': 'an entity may have more than 252 properties',
  'property-names': 'names of properties may hold spaces and . : $ - and begin with a digit',
  date: 'signed requests need no date; one that is there is compared with the clock',
  'any-credential': 'a signature in the query counts where an Authorization header beside it fails',
  'upsert-permissions': 'a SAS with a or u, not both, may insert or replace and insert or merge',
} as const;

export type LenientItem = keyof typeof lenientItems;

export const lenientItemNames = Object.keys(lenientItems) as readonly LenientItem[];

/** The rules for requests: those of the cloud service, except the allowed `items`. */
export interface RequestRules {
  /** The exceptions from the rules of the cloud service, in the order of `lenientItems`. */
  readonly items: readonly LenientItem[];
  readonly ignoresClock: boolean;
  readonly credentials: CredentialRules;
  readonly answersAnyAccept: boolean;
  readonly deletesWithoutEtag: boolean;
  readonly upsertsWithOnePermission: boolean;
  readonly queries: QueryRules;
  readonly properties: PropertyRules;
}

/** Unknown item names. The message lists the known ones. */
export class UnknownLenientItemError extends Error {
  override readonly name = 'UnknownLenientItemError';
}

/** `true`: all items. Throws `UnknownLenientItemError`, which names those that there are. */
export function requestRulesOf(items: boolean | readonly string[]): RequestRules {
  const allowed = new Set(typeof items === 'boolean' ? (items ? lenientItemNames : []) : items);
  for (const item of allowed) if (!Object.hasOwn(lenientItems, item)) throw unknownItem(item);
  const has = (item: LenientItem): boolean => allowed.has(item);
  return Object.freeze({
    items: lenientItemNames.filter(has),
    ignoresClock: has('clock'),
    credentials: Object.freeze({ isDateOptional: has('date'), triesAll: has('any-credential') }),
    answersAnyAccept: has('accept'),
    deletesWithoutEtag: has('delete-etag'),
    upsertsWithOnePermission: has('upsert-permissions'),
    queries: Object.freeze({ limitsTop: has('top'), ignoresUnsupported: has('query-options') }),
    properties: propertyRulesOf({
      manyProperties: has('property-count'),
      wideNames: has('property-names'),
    }),
  });
}

/** The rules of the cloud service, without exceptions. */
export const strictRules: RequestRules = requestRulesOf(false);

function unknownItem(item: string): UnknownLenientItemError {
  return new UnknownLenientItemError(
    `there is nothing lenient called '${item}'; there are ${lenientItemNames.join(', ')}`,
  );
}
