import type { BearerTarget } from './bearer-verifier.js';

/** The storage service as a whole: the audience that client libraries request tokens for. */
export const storageAudience = 'https://storage.azure.com';

/** The storage service as a whole, by its application id. */
const storageApplication = 'e406a681-f3d4-42a8-90b6-c2b029497af1';

/** The domains of cloud endpoints. */
const domains = [
  'core.windows.net',
  'core.chinacloudapi.cn',
  'core.usgovcloudapi.net',
  'core.cloudapi.de',
];

/**
 * True when an audience of a token covers this request (table-service §8.5): one of `configured`,
 * or else the storage service or the endpoint of the addressed account and service. Ignores a
 * trailing slash.
 */
export function isMeantFor(
  audiences: readonly string[],
  target: BearerTarget,
  configured: readonly string[] | undefined,
): boolean {
  const accepted = configured ?? defaultAudiences(target);
  return audiences.some((audience) =>
    accepted.some((each) => withoutSlash(each) === withoutSlash(audience)),
  );
}

function defaultAudiences({ account, service }: BearerTarget): readonly string[] {
  const endpoints = domains.map((domain) => `https://${account}.${service}.${domain}`);
  return [storageAudience, storageApplication, ...endpoints];
}

function withoutSlash(text: string): string {
  return text.endsWith('/') ? text.slice(0, -1) : text;
}
