import { checkTags, type Tag, type Tags } from '../../model/blobs/tags.js';
import { invalidHeader } from '../../model/errors/query-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { decodeOnce } from '../http/percent.js';

const name = 'x-ms-tags';

/** The longest value of the header (blob-service §15.4), in characters. */
const tagsHeaderLengthMax = 2_048;

/**
 * The tags of `x-ms-tags`, in their order: `name=value&name=value`, percent-encoded, `+` for a
 * space (blob-service §15.4). Empty for an empty header.
 *
 * @throws {StorageError} `InvalidHeaderValue` for a header that is not percent-encoded;
 * `TagsTooLarge`, `EmptyTagName`, `InvalidTag`, `DuplicateTagNames`
 */
export function parseTagsHeader(text: string): Tags {
  if (text.length > tagsHeaderLengthMax) throw new StorageError('TagsTooLarge');
  const tags = text.split('&').flatMap((part): Tag[] => (part === '' ? [] : [tagOf(part, text)]));
  checkTags(tags);
  return tags;
}

function tagOf(part: string, header: string): Tag {
  const equals = part.indexOf('=');
  if (equals < 0) return [decoded(part, header), ''];
  return [decoded(part.slice(0, equals), header), decoded(part.slice(equals + 1), header)];
}

function decoded(text: string, header: string): string {
  try {
    return decodeOnce(text.replaceAll('+', ' '));
  } catch {
    throw invalidHeader(name, header);
  }
}

/** The header of tags, which `parseTagsHeader` reads. */
export function formatTagsHeader(tags: Tags): string {
  return tags
    .map(([tag, value]) => `${encodeURIComponent(tag)}=${encodeURIComponent(value)}`)
    .join('&');
}
