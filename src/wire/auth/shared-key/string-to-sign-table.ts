import { signedPaths, type StringToSign, type TableSignedRequest } from './signed-request.js';
import type { SharedKeyScheme } from './shared-key-credential.js';

/**
 * All candidates for the signed text of a table request, the likeliest first (table-service §8.1).
 * The date is `x-ms-date` or `Date`; when both are present, either may be signed.
 */
export function* tableStringsToSign(
  scheme: SharedKeyScheme,
  account: string,
  request: TableSignedRequest,
): Generator<StringToSign> {
  const { xMsDate, date } = request;
  // Without any date there is one text, with an empty line for it.
  const likely = xMsDate ?? date ?? '';
  const other = date ?? likely;
  for (const candidate of other === likely ? [likely] : [likely, other]) {
    for (const path of signedPaths(account, request.rawPath)) {
      const resource = canonicalizedResource(account, path, request.comp);
      yield { date: candidate, text: stringToSign(scheme, request, candidate, resource) };
    }
  }
}

/**
 * `/` + account + path + `?comp=…`, without other options. In path style the path begins with the
 * account, so that it appears twice.
 */
function canonicalizedResource(account: string, path: string, comp: string | undefined): string {
  return comp === undefined ? `/${account}${path}` : `/${account}${path}?comp=${comp}`;
}

function stringToSign(
  scheme: SharedKeyScheme,
  { method, contentMd5 = '', contentType = '' }: TableSignedRequest,
  date: string,
  resource: string,
): string {
  if (scheme === 'SharedKeyLite') return `${date}\n${resource}`;
  return `${method}\n${contentMd5}\n${contentType}\n${date}\n${resource}`;
}
