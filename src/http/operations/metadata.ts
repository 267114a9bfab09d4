import type { Metadata } from '../../model/resources/metadata.js';
import type { Exchange } from '../exchange/exchange.js';

const prefix = 'x-ms-meta-';

/**
 * The metadata in `x-ms-meta-` headers, one entry per header field, names spelled as sent
 * (queue-service §5.2). Repeated names are kept; nothing is validated.
 */
export function metadataOf({ rawHeaders }: Pick<Exchange, 'rawHeaders'>): Metadata {
  const metadata: (readonly [string, string])[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length < prefix.length || name.slice(0, prefix.length).toLowerCase() !== prefix) {
      continue;
    }
    metadata.push([name.slice(prefix.length), rawHeaders[index + 1] ?? '']);
  }
  return metadata;
}

/** Metadata as headers of a reply: name, value, name, value, … */
export function metadataHeaders(metadata: Metadata): string[] {
  return metadata.flatMap(([name, value]) => [`${prefix}${name}`, value]);
}
