import { unreachable } from '../../../base/invariant.js';
import { signedPaths, type BlobQueueSignedRequest, type StringToSign } from './signed-request.js';
import type { SharedKeyScheme } from './shared-key-credential.js';
import {
  canonicalizedHeaders,
  documentedOrder,
  headerLines,
  languageFirstOrder,
  liteOrder,
  readSignedHeaders,
  wordSortedHeaders,
} from './signed-headers.js';
import { canonicalizedQuery, compOnly, queryParameters, type PlusMeaning } from './signed-query.js';

/**
 * All candidates for the signed text of a blob or queue request, the likeliest first (queue-service
 * §4.1 and §4.2). Clients disagree about the order of headers, of encoding and language, about `+`
 * in a query string and about the path of a secondary. Later candidates are computed only when the
 * first does not match.
 *
 * @throws {StorageError} `InvalidHeaderValue` when a header that is signed occurs twice,
 * `InvalidInput` when the query string cannot be decoded
 */
export function* blobQueueStringsToSign(
  scheme: SharedKeyScheme,
  account: string,
  request: BlobQueueSignedRequest,
): Generator<StringToSign> {
  const { method, rawPath, rawQuery } = request;
  const signed = readSignedHeaders(request);
  const paths = signedPaths(account, rawPath);
  const [order, otherOrder] = lineOrders[scheme];
  const lines = headerLines(signed, order);
  const headers = canonicalizedHeaders(signed);
  const query = signedQuery(scheme, rawQuery, 'plus');
  const first = `${method}\n${lines}${headers}/${account}${paths[0]}${query}`;
  yield { date: signed.date, text: first };

  const starts = joined(
    new Set([lines, headerLines(signed, otherOrder)]),
    new Set([headers, wordSortedHeaders(signed)]),
  );
  const ends = joined(paths, new Set([query, signedQuery(scheme, rawQuery, 'space')]));
  for (const end of ends)
    for (const start of starts) {
      const text = `${method}\n${start}/${account}${end}`;
      if (text !== first) yield { date: signed.date, text };
    }
}

/** All concatenations of a left and a right part. */
function joined(lefts: Iterable<string>, rights: Iterable<string>): readonly string[] {
  const all: string[] = [];
  for (const left of lefts) for (const right of rights) all.push(left + right);
  return all;
}

const lineOrders: Readonly<Record<SharedKeyScheme, readonly [LineOrder, LineOrder]>> = {
  SharedKey: [documentedOrder, languageFirstOrder],
  SharedKeyLite: [liteOrder, liteOrder],
};

type LineOrder = readonly string[];

function signedQuery(scheme: SharedKeyScheme, rawQuery: string, plus: PlusMeaning): string {
  const parameters = queryParameters(rawQuery, plus);
  switch (scheme) {
    case 'SharedKey':
      return canonicalizedQuery(parameters);
    case 'SharedKeyLite':
      return compOnly(parameters);
    default:
      return unreachable(scheme);
  }
}
