import type { Clock } from '../../base/clock.js';
import { invariant, unreachable } from '../../base/invariant.js';
import { authenticationFailed } from '../../model/errors/authentication-failed.js';
import { readCredential, type Credential } from '../../wire/auth/credential.js';
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
import type { SignedContainers } from '../exchange/service.js';
import type { ApiVersionPolicy } from './api-version-policy.js';

export interface AuthenticateContext {
  /** The service that is asked. */
  readonly service: ServiceName;
  readonly signatures: SignedContainers;
  readonly versions: ApiVersionPolicy;
  readonly clock: Clock;
  readonly checkClockSkew: boolean;
  readonly rules: CredentialRules;
  /** Undefined: bearer tokens are not taken. */
  readonly bearer: BearerVerifier | undefined;
}

const owner: Caller = { kind: 'owner', authKind: 'shared-key' };
const ownerLite: Caller = { kind: 'owner', authKind: 'shared-key-lite' };

/** From this version on, a request without credentials is told which it could have sent. */
const challengeVersion = '2019-12-12';

/** From this version of a signature on, `api-version` and `x-ms-version` have a say. */
const versionChoiceVersion = '2014-02-14';

/**
 * Third stage: who sends the request, and for a signature in the query string, which version of the
 * protocol it brings. A preflight alone does not pass here: it stays anonymous,
 * whatever credential it has. Every service and every kind of credential passes here and nowhere
 * else: another kind is a member of `Credential`, is verified here and becomes a `Caller`, which
 * `authorise` judges. A promise only where the credential takes more than the request and the keys
 * of the account.
 */
export function authenticate(
  exchange: Exchange,
  context: AuthenticateContext,
): Caller | Promise<Caller> {
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
 * What the first credential proves, or else what the second one does, if there is one. When neither
 * proves anything, the refusal is that of the first.
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

/** Throws, or rejects with, a `StorageError` for a credential that proves nothing. */
function verify(
  exchange: Exchange,
  context: AuthenticateContext,
  credential: Credential,
): Caller | Promise<Caller> {
  const { service, clock, checkClockSkew, rules } = context;
  const { account } = exchange;
  invariant(account !== undefined, 'the address is known before the caller');
  switch (credential.kind) {
    case 'none':
      throw withoutCredential(exchange.version, context.bearer?.challenge);
    case 'shared-key':
      verifySharedKey(credential, account, signedRequest(exchange, signingForms[service]), {
        skewCheckedAtMicros: checkClockSkew ? clock.nowMicros() : undefined,
        isDateOptional: rules.isDateOptional,
      });
      return credential.scheme === 'SharedKeyLite' ? ownerLite : owner;
    case 'bearer':
      return authenticateBearer(exchange, credential.token, context.bearer);
    case 'table-sas':
    case 'queue-sas':
    case 'user-delegation-queue-sas':
    case 'account-sas':
      exchange.version = executedVersion(credential, exchange, context.versions);
      return authenticateSas(credential, exchange, account, context);
    default:
      return unreachable(credential);
  }
}

/**
 * The version that a request with a signature is executed with: that of the signature, unless the
 * request asks for another one (table-service §10.2, queue-service §2).
 */
function executedVersion({ version }: Sas, exchange: Exchange, versions: ApiVersionPolicy): string {
  if (version < versionChoiceVersion) return versions.admit(version);
  if (exchange.header('x-ms-version') !== undefined) return exchange.version;
  return versions.admit(exchange.queryOptionsByLowerName.get('api-version') ?? version);
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
