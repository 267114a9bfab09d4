import type { Clock } from '../../base/clock.js';
import { invariant } from '../../base/invariant.js';
import { readCredential } from '../../wire/auth/credential.js';
import { verifySharedKey } from '../../wire/auth/shared-key.js';
import { StorageError } from '../../wire/errors/storage-error.js';
import type { Caller } from './authorise.js';
import type { Exchange } from './exchange.js';

export interface AuthenticateContext {
  readonly clock: Clock;
  readonly checkClockSkew: boolean;
}

const anonymous: Caller = { kind: 'anonymous' };
const owner: Caller = { kind: 'owner', authKind: 'shared-key' };
const ownerLite: Caller = { kind: 'owner', authKind: 'shared-key-lite' };

/** From this version on, a request without credentials is told which it could have sent. */
const challengeVersion = '2019-12-12';

/** Third stage: who sends the request. A preflight is the only request that may be anonymous. */
export function authenticate(exchange: Exchange, context: AuthenticateContext): Caller {
  const credential = readCredential(exchange.header('authorization'), exchange.queryText);
  if (credential.kind === 'none') {
    if (exchange.method === 'OPTIONS') return anonymous;
    const challenged = exchange.version >= challengeVersion;
    throw new StorageError(challenged ? 'NoAuthenticationInformation' : 'AuthenticationFailed');
  }
  const { account } = exchange;
  invariant(account !== undefined, 'the address is known before the caller');
  const request = {
    method: exchange.method,
    rawPath: exchange.path,
    comp: exchange.queryOptions.get('comp'),
    contentMd5: exchange.header('content-md5'),
    contentType: exchange.header('content-type'),
    xMsDate: exchange.header('x-ms-date'),
    date: exchange.header('date'),
  };
  verifySharedKey(credential, account, request, {
    skewCheckedAtMicros: context.checkClockSkew ? context.clock.nowMicros() : undefined,
  });
  return credential.scheme === 'SharedKeyLite' ? ownerLite : owner;
}
