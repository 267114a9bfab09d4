import { StorageError } from '../../model/errors/storage-error.js';
import type { Metadata } from '../../model/resources/metadata.js';

/** The UTF-8 bytes of all names and values together. */
const metadataBytesMax = 8 * 1024;

/** A C# identifier, as the service requires, restricted to the ASCII of header names. */
const identifier = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Refuses invalid metadata (queue-service §5.2): an empty name, a name that is no identifier, two
 * names that differ only in case, more than 8 KiB.
 */
export function checkMetadata(metadata: Metadata): void {
  const names = new Set<string>();
  let bytes = 0;
  for (const [name, value] of metadata) {
    if (name === '') throw new StorageError('EmptyMetadataKey');
    if (!identifier.test(name)) throw invalid(`The name '${name}' is not a valid identifier.`);
    const folded = name.toLowerCase();
    if (names.has(folded)) throw invalid(`The name '${name}' occurs more than once.`);
    names.add(folded);
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value);
  }
  if (bytes > metadataBytesMax) throw new StorageError('MetadataTooLarge');
}

/** True when both have the same names, in any case and order, with exactly the same values. */
export function sameMetadata(left: Metadata, right: Metadata): boolean {
  if (left.length !== right.length) return false;
  const values = new Map(left.map(([name, value]) => [name.toLowerCase(), value]));
  return right.every(([name, value]) => values.get(name.toLowerCase()) === value);
}

function invalid(reason: string): StorageError {
  return new StorageError('InvalidMetadata', {
    message: `The metadata specified is invalid. It has characters that are not permitted. ${reason}`,
  });
}
