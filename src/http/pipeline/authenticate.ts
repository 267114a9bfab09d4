import type { Clock } from '../../base/clock.js';
import { invariant, unreachable } from '../../base/invariant.js';
import { authenticationFailed } from '../../model/errors/authentication-failed.js';
import { isSas, readCredential, type Credential } from '../../wire/auth/credential.js';
import type { Sas } from '../../wire/auth/sas/fields.js';
import { verifySharedKey } from '../../wire/auth/shared-key/shared-key.js';
import {
  signingForms,
  type SignedRequest,
  type SigningForm,
} from '../../wire/auth/shared-key/signed-request.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { ServiceName } from '../../model/services/services.js';
import { authenticateBearer } from '../oauth/authenticate-bearer.js';
import type { BearerVerifier } from '../oauth/bearer-verifier.js';
import { authenticateSas } from './authenticate-sas.js';
import type { Caller } from '../exchange/caller.js';
import type { Exchange } from '../exchange/exchange.js';
import type { CredentialRules } from '../exchange/credential-rules.js';
import type { HttpService, SignedContainers } from '../exchange/service.js';
import type { ApiVersionPolicy } from './api-version-policy.js';

export interface AuthenticateContext {
  /** The addressed service. */
  readonly service: ServiceName;
  readonly signatures: SignedContainers;
  readonly defaultVersion?: HttpService['defaultVersion'];
  readonly versions: ApiVersionPolicy;
  readonly clock: Clock;
  readonly checkClockSkew: boolean;
  readonly rules: CredentialRules;
  /** Undefined: bearer tokens are refused. */
  readonly bearer: BearerVerifier | undefined;
}

const owner: Caller = { kind: 'owner', authKind: 'shared-key' };
const ownerLite: Caller = { kind: 'owner', authKind: 'shared-key-lite' };

/** From this version on, the answer to a request without credentials has a challenge. */
const challengeVersion = '2019-12-12';

/** From this signature version on, `api-version` and `x-ms-version` select the protocol version. */
const versionChoiceVersion = '2014-02-14';

/**
 * Third stage: authenticates the sender of the request, and for a signature in the query string,
 * selects the protocol version. Only a preflight skips this stage: it stays anonymous, whatever
 * credential it has. All services and all kinds of credentials are authenticated here: a new kind
 * is a member of `Credential`, is verified here and becomes a `Caller`, which `authorise` checks.
 * Returns a promise only when the credential needs more than the request and the account keys.
 */
export function authenticate(
  exchange: Exchange,
  context: AuthenticateContext,
): Caller | Promise<Caller> {
  if (context.signatures.isForAll?.(exchange) === true) return { kind: 'anonymous' };
  const header = exchange.header('authorization');
  if (context.rules.triesAll && header !== undefined && exchange.queryText !== '') {
    return authenticateByEither(header, exchange, context);
  }
  return verify(exchange, context, credentialOf(header, exchange, context));
}

function credentialOf(
  header: string | undefined,
  { queryText }: Exchange,
  { service }: AuthenticateContext,
): Credential {
  return readCredential(header, queryText, service);
}

function authenticateByEither(
  header: string,
  exchange: Exchange,
  context: AuthenticateContext,
): Caller | Promise<Caller> {
  const byHeader = () => verify(exchange, context, credentialOf(header, exchange, context));
  return firstValid(byHeader, () => {
    const credential = credentialOf(undefined, exchange, context);
    return credential.kind === 'none' ? undefined : verify(exchange, context, credential);
  });
}

/**
 * The result of the first credential, or else of the second, if there is one. When both are
 * invalid, the error is that of the first.
 */
function firstValid(
  first: () => Caller | Promise<Caller>,
  second: () => Caller | Promise<Caller> | undefined,
): Caller | Promise<Caller> {
  const otherwise = (refusal: unknown): Caller | Promise<Caller> => {
    if (!(refusal instanceof StorageError)) throw refusal;
    const sameRefusal = (error: unknown): never => {
      throw error instanceof StorageError ? refusal : error;
    };
    try {
      const caller = second();
      if (caller === undefined) throw refusal;
      return caller instanceof Promise ? caller.catch(sameRefusal) : caller;
    } catch (error) {
      return sameRefusal(error);
    }
  };
  try {
    const caller = first();
    return caller instanceof Promise ? caller.catch(otherwise) : caller;
  } catch (error) {
    return otherwise(error);
  }
}

/** Throws, or rejects with, a `StorageError` for an invalid credential. */
function verify(
  exchange: Exchange,
  context: AuthenticateContext,
  credential: Credential,
): Caller | Promise<Caller> {
  if (context.defaultVersion === undefined || exchange.isVersionChosen || isSas(credential)) {
    return verifyCredential(exchange, context, credential);
  }
  return chooseVersion(exchange, context).then(() =>
    verifyCredential(exchange, context, credential),
  );
}

/** Takes the version that the account has set for requests that name none (blob-service §2). */
async function chooseVersion(
  exchange: Exchange,
  { defaultVersion, versions }: AuthenticateContext,
): Promise<void> {
  const version = await defaultVersion?.(exchange.account?.name ?? '');
  if (version === undefined) return;
  exchange.version = versions.admit(version);
  exchange.isVersionChosen = true;
}

function verifyCredential(
  exchange: Exchange,
  context: AuthenticateContext,
  credential: Credential,
): Caller | Promise<Caller> {
  const { service, clock, checkClockSkew, rules } = context;
  const { account } = exchange;
  invariant(account !== undefined, 'the address is known before the caller');
  if (isSas(credential)) {
    exchange.version = executedVersion(credential, exchange, context.versions);
    return authenticateSas(credential, exchange, account, context);
  }
  switch (credential.kind) {
    case 'none':
      return anonymousCaller(exchange, account.name, context);
    case 'shared-key':
      verifySharedKey(credential, account, signedRequest(exchange, signingForms[service]), {
        skewCheckedAtMicros: checkClockSkew ? clock.nowMicros() : undefined,
        isDateOptional: rules.isDateOptional,
      });
      return credential.scheme === 'SharedKeyLite' ? ownerLite : owner;
    case 'bearer':
      return authenticateBearer(exchange, credential.token, context.bearer);
    default:
      return unreachable(credential);
  }
}

/**
 * The protocol version of a request with a signature: that of the signature, unless the request
 * selects another one (table-service §10.2, queue-service §2).
 */
function executedVersion({ version }: Sas, exchange: Exchange, versions: ApiVersionPolicy): string {
  if (version < versionChoiceVersion) return versions.admit(version);
  if (exchange.header('x-ms-version') !== undefined) return exchange.version;
  return versions.admit(exchange.queryOptionsByLowerName.get('api-version') ?? version);
}

/**
 * Reads the store only where containers can be public. Throws when nothing of the resource is
 * public.
 */
function anonymousCaller(
  exchange: Exchange,
  account: string,
  context: AuthenticateContext,
): Caller | Promise<Caller> {
  const { signatures } = context;
  const address = signatures.publicLevel && signatures.addressOf(exchange);
  if (signatures.publicLevel === undefined || address === undefined) {
    throw withoutCredential(exchange, context);
  }
  return signatures.publicLevel(account, address.container).then((publicLevel) => {
    // Made only when it is needed: most anonymous requests are for public blobs.
    const refusal = () => withoutCredential(exchange, context);
    if (publicLevel === undefined) throw refusal();
    return { kind: 'anonymous', publicLevel, refusal };
  });
}

/**
 * The answer to a request that needs a credential and has none. Where containers can be public, old
 * clients are told that the resource does not exist (blob-service §4.6).
 */
function withoutCredential(
  { version, isVersionChosen, method }: Exchange,
  { signatures, bearer }: AuthenticateContext,
): StorageError {
  const hidesPrivate = signatures.publicLevel !== undefined;
  if (version >= challengeVersion && (isVersionChosen || !hidesPrivate)) {
    return new StorageError('NoAuthenticationInformation', { challenge: bearer?.challenge });
  }
  if (hidesPrivate && (method === 'GET' || method === 'HEAD')) {
    return new StorageError('ResourceNotFound');
  }
  return authenticationFailed('The request has no Authorization header.');
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
