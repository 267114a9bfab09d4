import type { ErrorCode } from '../../model/errors/registry.js';
import { StorageError } from '../../model/errors/storage-error.js';

/** How much OData metadata a JSON payload carries (table-service §4.1). */
export type MetadataLevel = 'none' | 'minimal' | 'full';

const contentTypes: Readonly<Record<MetadataLevel, string>> = {
  none: 'application/json;odata=nometadata;streaming=true;charset=utf-8',
  minimal: 'application/json;odata=minimalmetadata;streaming=true;charset=utf-8',
  full: 'application/json;odata=fullmetadata;streaming=true;charset=utf-8',
};

/** The Content-Type of a response of a level. */
export function contentType(level: MetadataLevel): string {
  return contentTypes[level];
}

type Outcome =
  { readonly level: MetadataLevel } | { readonly refusal: ErrorCode; readonly level?: undefined };

const atom: Outcome = { refusal: 'AtomFormatNotSupported' };
const unknown: Outcome = { refusal: 'MediaTypeNotSupported' };

const levels: ReadonlyMap<string, Outcome> = new Map<string, Outcome>([
  ['nometadata', { level: 'none' }],
  ['minimalmetadata', { level: 'minimal' }],
  ['fullmetadata', { level: 'full' }],
  ['verbose', { refusal: 'JsonVerboseFormatNotSupported' }],
]);

/** The outcome of one media range, in lower case without white space. */
function outcomeOf(range: string): Outcome {
  const [type = '', ...parameters] = range.split(';');
  switch (type) {
    case 'application/json':
    case 'json':
      break;
    case '*/*':
    case 'application/*':
      return { level: 'minimal' };
    case '':
    case 'atom':
    case 'application/atom+xml':
    case 'application/xml':
    case 'text/xml':
      return atom;
    default:
      return unknown;
  }
  const odata = parameters.find((parameter) => parameter.startsWith('odata='));
  if (odata === undefined) return { level: 'minimal' };
  return levels.get(odata.slice('odata='.length).replaceAll('"', '')) ?? unknown;
}

/** The first acceptable range decides; without one, the first range determines the refusal. */
function negotiateText(text: string): Outcome {
  const ranges = text.toLowerCase().replaceAll(/\s/g, '').split(',');
  let first: Outcome | undefined;
  for (const range of ranges) {
    const outcome = outcomeOf(range);
    if (outcome.level !== undefined) return outcome;
    first ??= outcome;
  }
  return first ?? atom;
}

/**
 * The cache size. Clients send a handful of texts; the bound keeps hostile ones from filling
 * memory.
 */
const cachedTextsMax = 64;
const cachedTextLengthMax = 256;
const mediaTypeLengthMax = 8192;
const cache = new Map<string, Outcome>();

/**
 * The metadata level of a request: `$format` when given, else `Accept`. Throws the service's 415
 * errors: `AtomFormatNotSupported` also when both are absent or empty.
 */
export function negotiate(accept: string | undefined, format: string | undefined): MetadataLevel {
  const text = format === undefined || format === '' ? (accept ?? '') : format;
  let outcome = cache.get(text);
  if (outcome === undefined) {
    outcome = text.length > mediaTypeLengthMax ? unknown : negotiateText(text);
    if (cache.size < cachedTextsMax && text.length <= cachedTextLengthMax) cache.set(text, outcome);
  }
  if (outcome.level === undefined) throw new StorageError(outcome.refusal);
  return outcome.level;
}
