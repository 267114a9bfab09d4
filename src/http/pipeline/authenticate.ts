import type { Clock } from '../../base/clock.js';
import { invariant, unreachable } from '../../base/invariant.js';
import { authenticationFailed } from '../../wire/auth/authentication-failed.js';
import { readCredential } from '../../wire/auth/credential.js';
import { verifySasSignature } from '../../wire/auth/sas/sas-signature.js';
import { verifySharedKey } from '../../wire/auth/shared-key.js';
import type { SignedRequest, SigningForm } from '../../wire/auth/signed-request.js';
import { StorageError } from '../../wire/errors/storage-error.js';
import { decodeOnce } from '../../wire/http/percent.js';
import { authenticateBearer } from '../oauth/authenticate-bearer.js';
import type { BearerVerifier } from '../oauth/bearer-verifier.js';
import type { Caller } from './authorise.js';
import type { Exchange } from './exchange.js';

export interface AuthenticateContext {
  /** Of the service that is asked. */
  readonly signing: SigningForm;
  readonly clock: Clock;
  readonly checkClockSkew: boolean;
  /** Undefined: bearer tokens are not taken. */
  readonly bearer: BearerVerifier | undefined;
}

const anonymous: Caller = { kind: 'anonymous' };
const owner: Caller = { kind: 'owner', authKind: 'shared-key' };
const ownerLite: Caller = { kind: 'owner', authKind: 'shared-key-lite' };

/** From this version on, a request without credentials is told which it could have sent. */
const challengeVersion = '2019-12-12';

/**
 * Third stage: who sends the request. A preflight is the only request that may be anonymous. Every
 * service and every kind of credential passes here and nowhere else: another kind is a member of
 * `Credential`, is verified here and becomes a `Caller`, which `authorise` judges.
 */
export function authenticate(
  exchange: Exchange,
  context: AuthenticateContext,
): Caller | Promise<Caller> {
  const service = context.signing === 'table' ? 'table' : 'queue';
  const header = exchange.header('authorization');
  const credential = readCredential(header, exchange.queryText, service);
  if (credential.kind === 'none') {
    if (exchange.method === 'OPTIONS') return anonymous;
    throw withoutCredential(exchange.version, context.bearer?.challenge);
  }
  if (credential.kind === 'bearer') {
    return authenticateBearer(exchange, credential.token, context.bearer);
  }
  const { account } = exchange;
  invariant(account !== undefined, 'the address is known before the caller');
  if (credential.kind !== 'shared-key') {
    verifySasSignature(credential, account, decodeOnce(exchange.resourcePath.split('/')[1] ?? ''));
    throw notAccepted('Shared access signatures');
  }
  verifySharedKey(credential, account, signedRequest(exchange, context.signing), {
    skewCheckedAtMicros: context.checkClockSkew ? context.clock.nowMicros() : undefined,
  });
  return credential.scheme === 'SharedKeyLite' ? ownerLite : owner;
}

function notAccepted(what: string): StorageError {
  return authenticationFailed(`${what} are not accepted here; sign with a key of the account.`);
}

function withoutCredential(version: string, challenge: string | undefined): StorageError {
  return version >= challengeVersion
    ? new StorageError('NoAuthenticationInformation', { challenge })
    : authenticationFailed('The request has no Authorization header.');
}

function signedRequest(exchange: Exchange, form: SigningForm): SignedRequest {
  const { method, path: rawPath } = exchange;
  switch (form) {
    case 'table':
      return {
        form,
        method,
        rawPath,
        comp: exchange.queryOptions.get('comp'),
        contentMd5: exchange.header('content-md5'),
        contentType: exchange.header('content-type'),
        xMsDate: exchange.header('x-ms-date'),
        date: exchange.header('date'),
      };
    case 'blob-queue': {
      const { queryText: rawQuery, version, rawHeaders: headers } = exchange;
      return { form, method, rawPath, rawQuery, version, headers };
    }
    default:
      return unreachable(form);
  }
}
