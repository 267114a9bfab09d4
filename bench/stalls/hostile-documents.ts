import { filled, type PlainRequest } from './hostile-request.js';
import type { Ports } from '../child.js';

// XML bodies of requests at their limits: accepted ones, and those with too many elements.

/** Bodies of policies, properties and key periods have 64 KiB. */
const documentBytesMax = 65_536;

/** A document of the largest size, filled up with text that a reader has to scan. */
function padded(root: string, content: string): string {
  const empty = `<${root}>${content}</${root}>`;
  return `<${root}>${content}${filled(documentBytesMax - empty.length, '', () => '<!---->')}</${root}>`;
}

const far = '2099-01-01T00:00:00.0000000Z';

/** The id of a policy, as long as it can be. */
export function policyId(place: number): string {
  return `policy-${place}-`.padEnd(64, 'x');
}

/** Five policies with the longest ids and every member. */
export function policies(letters: string): string {
  const one = (place: number): string =>
    `<SignedIdentifier><Id>${policyId(place)}</Id><AccessPolicy><Start>2009-09-28T08:49:37.0000000Z</Start>` +
    `<Expiry>${far}</Expiry><Permission>${letters}</Permission></AccessPolicy></SignedIdentifier>`;
  return padded('SignedIdentifiers', [0, 1, 2, 3, 4].map(one).join(''));
}

export const tooManyPolicies = `<SignedIdentifiers>${filled(64_000, '', (place) => `<SignedIdentifier><Id>${place}</Id><AccessPolicy/></SignedIdentifier>`)}</SignedIdentifiers>`;

/** The origin whose pages the rules below allow. */
export const allowedOrigin = 'https://stalls.example';

function rule(origins: string, headers: string): string {
  return (
    `<CorsRule><AllowedOrigins>${origins}</AllowedOrigins><AllowedMethods>GET,PUT</AllowedMethods>` +
    `<AllowedHeaders>${headers}</AllowedHeaders><ExposedHeaders>${headers}</ExposedHeaders>` +
    `<MaxAgeInSeconds>9</MaxAgeInSeconds></CorsRule>`
  );
}

/**
 * Five rules of 2 KiB together. The last one decides, and the last of its 66 members is the one
 * that every header has.
 */
export const properties = padded(
  'StorageServiceProperties',
  `<Cors>${[
    ...['a', 'b', 'c', 'd'].map((origin) => rule(`${origin},`.repeat(63) + origin, '')),
    rule(
      allowedOrigin,
      `${Array.from({ length: 64 }, (_, place) => `y${place}`).join()},x-none*,x*`,
    ),
  ].join('')}</Cors>`,
);

export const tooManyRules = `<StorageServiceProperties>${filled(64_000, '', () => '<Cors/>')}</StorageServiceProperties>`;

/** A period for a user delegation key, from now on. */
export function keyPeriod(): string {
  const inHours = (hours: number): string =>
    new Date(Date.now() + hours * 3_600_000).toISOString().replace(/\.\d+Z$/, 'Z');
  return padded('KeyInfo', `<Expiry>${inHours(24)}</Expiry>`);
}

export const tooManyStarts = `<KeyInfo>${filled(60_000, '', () => '<Start/>')}</KeyInfo>`;

export function setProperties(service: keyof Ports, body: string): PlainRequest {
  const path = '/?restype=service&comp=properties';
  return { service, method: 'PUT', path, body };
}

/** A preflight request with as many headers as there is room for. */
export function preflight(service: keyof Ports, name: string): PlainRequest {
  return {
    service,
    method: 'OPTIONS',
    path: '/any',
    sender: 'as-it-is',
    headers: {
      Origin: allowedOrigin,
      'Access-Control-Request-Method': 'GET',
      'Access-Control-Request-Headers': filled(55_000, ',', () => name),
    },
  };
}
