import { invariant, unreachable } from '../../base/invariant.js';
import { errorDefinition, type ErrorCode } from '../../model/errors/registry.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { ServiceName } from '../../model/services/services.js';
import type { Caller } from '../exchange/caller.js';
import type { Exchange } from '../exchange/exchange.js';
import type { BearerVerifier } from './bearer-verifier.js';

interface BearerVersions {
  /** The first protocol version with bearer tokens. */
  readonly since: string;
  /** The first version in which a bad token gets 401 and a challenge instead of 403. */
  readonly challengedSince: string;
}

/**
 * Tables have had tokens since 2020-12-06 by the documentation; the client for JavaScript sends
 * them with 2019-02-02, whatever the server.
 */
const bearerVersions: Readonly<Record<ServiceName, BearerVersions>> = {
  table: { since: '2019-02-02', challengedSince: '2019-02-02' },
  queue: { since: '2017-11-09', challengedSince: '2019-12-12' },
  blob: { since: '2017-11-09', challengedSince: '2019-12-12' },
};

/**
 * Authenticates the sender of a token (table-service §8.5, queue-service §4.6). Throws
 * `AuthenticationFailed` when tokens are not accepted, `InvalidAuthenticationInfo` with a challenge
 * for an invalid token, `ServerBusy` while the keys of the issuer are unavailable.
 *
 * @param verifier undefined: the server accepts no tokens
 */
export async function authenticateBearer(
  exchange: Exchange,
  token: string,
  verifier: BearerVerifier | undefined,
): Promise<Caller> {
  if (verifier === undefined) {
    throw refusal(
      'AuthenticationFailed',
      'Authentication scheme Bearer is not supported. Start the server with --oauth to have it, ' +
        'or sign with a key of the account.',
    );
  }
  if (exchange.protocol === 'http' && !verifier.allowHttp) {
    throw refusal(
      'AuthenticationFailed',
      'Authentication scheme Bearer is not allowed with HTTP. Send the token over HTTPS.',
    );
  }
  const { account, service, version } = exchange;
  const { since, challengedSince } = bearerVersions[service];
  if (version < since) {
    throw refusal(
      'AuthenticationFailed',
      `Authentication scheme Bearer is not supported in this version. Use ${since} or later.`,
    );
  }
  invariant(account !== undefined, 'the address is known before the caller');
  const decision = await verifier.verify(token, { account: account.name, service });
  switch (decision.kind) {
    case 'granted':
      return { ...decision, kind: 'bearer', authKind: 'bearer' };
    case 'refused':
      throw version < challengedSince
        ? refusal('AuthenticationFailed', decision.reason)
        : refusal('InvalidAuthenticationInfo', decision.reason, verifier.challenge);
    case 'undecided':
      throw new StorageError('ServerBusy', {
        message:
          'The server is currently unable to receive requests. Please retry your request. ' +
          'The keys that verify tokens cannot be read; the log of the server says why.',
      });
    default:
      return unreachable(decision);
  }
}

/** Tables send only the message, so the reason is added to it. */
function refusal(code: ErrorCode, reason: string, challenge?: string): StorageError {
  const general = errorDefinition(
    challenge === undefined ? code : 'NoAuthenticationInformation',
  ).message;
  return new StorageError(code, {
    message: `${general} ${reason}`,
    details: [['AuthenticationErrorDetail', reason]],
    challenge,
  });
}
