import { StorageError } from '../errors/storage-error.js';

/** A tag of a blob. Names and values have case. */
export type Tag = readonly [name: string, value: string];

/** The tags of a blob, each name once (blob-service §15.4). */
export type Tags = readonly Tag[];

// The limits of tags (blob-service §15.4), in characters.

export const tagsMax = 10;
export const tagNameLengthMax = 128;
export const tagValueLengthMax = 256;

/** Letters, digits, space and `+-./:=_`. */
const tagText = /^[A-Za-z0-9 +\-./:=_]*$/;

/**
 * Checks the tags of a request.
 *
 * @throws {StorageError} `TagsTooLarge`, `EmptyTagName`, `InvalidTag`, `DuplicateTagNames`
 */
export function checkTags(tags: Tags): void {
  if (tags.length > tagsMax) throw new StorageError('TagsTooLarge');
  const seen = new Set<string>();
  for (const [name, value] of tags) {
    if (name === '') throw new StorageError('EmptyTagName');
    if (name.length > tagNameLengthMax || value.length > tagValueLengthMax) {
      throw new StorageError('TagsTooLarge');
    }
    if (!tagText.test(name) || !tagText.test(value)) throw new StorageError('InvalidTag');
    if (seen.has(name)) throw new StorageError('DuplicateTagNames');
    seen.add(name);
  }
}
