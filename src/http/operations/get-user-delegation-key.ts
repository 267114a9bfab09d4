import { invariant } from '../../base/invariant.js';
import type { UserDelegationKeyFields } from '../../wire/auth/sas/fields.js';
import { userDelegationKeyValue } from '../../wire/auth/sas/user-delegation-key.js';
import { invalidXmlNode } from '../../model/errors/query-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { permissionsOfLetters } from '../../model/services/permission.js';
import { services, type ServiceName } from '../../model/services/services.js';
import { parseKeyInfo, renderUserDelegationKey } from '../../wire/xml/user-delegation-key.js';
import type { Operation } from '../exchange/service.js';
import { documentReply } from './replies.js';
import { type ServiceRequest, xmlBodyBytesMax } from './request.js';

const secondMicros = 1e6;
const validSecondsMax = 7 * 24 * 3600;

interface DelegationKey {
  readonly fields: UserDelegationKeyFields;
  readonly value: Buffer;
}

/**
 * `POST /?restype=service&comp=userdelegationkey` (queue-service §4.5, blob-service §6.5): a key
 * with which the bearer of a token signs. Signatures made with it are not checked against roles
 * later, so the key stands for permissions that the bearer has all of.
 */
export function getUserDelegationKey(
  service: ServiceName,
): Operation<ServiceRequest, DelegationKey, DelegationKey> {
  const { letter, delegable } = services[service].signature;
  const least = delegable.at(-1) ?? '';
  return {
    access: {
      kind: 'owner',
      byRole: {
        kind: 'granted',
        scope: 'object',
        permissions: [...permissionsOfLetters(least)],
        needs: 'all',
      },
    },
    bodyBytesMax: xmlBodyBytesMax,

    parse({ exchange, backend }) {
      const { account, caller, version, body } = exchange;
      invariant(account !== undefined, 'the account is known before the operation');
      if (caller.kind !== 'bearer') throw onlyForTokens('Ask with a bearer token.');
      const { objectId, tenantId, issuer } = caller;
      if (objectId === undefined || tenantId === undefined) {
        throw onlyForTokens('The token does not say whose it is: it needs oid and tid.');
      }
      const period = periodOf(body, Math.floor(backend.clock.nowMicros() / secondMicros));
      const fields = { objectId, tenantId, ...period, service: letter, version };
      const [key] = account.keys;
      invariant(key !== undefined, 'an account has a key');
      const held = caller.permissions.object;
      const grants = delegable.find((letters) =>
        [...permissionsOfLetters(letters)].every((permission) => held.has(permission)),
      );
      invariant(grants !== undefined, 'the operation was authorised');
      const delegation = { account: account.name, issuer, grants };
      return { fields, value: userDelegationKeyValue(key, delegation, fields) };
    },

    run: (key) => Promise.resolve(key),

    render: ({ fields, value }, _input, { exchange }) =>
      documentReply(exchange, renderUserDelegationKey(fields, value)),
  };
}

function periodOf(body: Buffer, now: number): { readonly start: string; readonly expiry: string } {
  const { startMicros, expiryMicros } = parseKeyInfo(body);
  const start = startMicros === undefined ? now : Math.floor(startMicros / secondMicros);
  const expiry = Math.floor(expiryMicros / secondMicros);
  const reason =
    expiry <= Math.max(start, now)
      ? 'It must be later than the start, and than now.'
      : 'It may be at most seven days after the start, and after now.';
  if (expiry <= Math.max(start, now) || expiry > Math.min(start, now) + validSecondsMax) {
    throw invalidXmlNode('Expiry', timeText(expiry), reason);
  }
  return { start: timeText(start), expiry: timeText(expiry) };
}

/** To the second, as in signatures. */
function timeText(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
}

function onlyForTokens(detail: string): StorageError {
  return new StorageError('AuthorizationFailure', {
    details: [['AuthenticationErrorDetail', detail]],
  });
}
