import type { ServiceName } from '../../model/services/services.js';
import type { SasSigner } from '../../wire/auth/sas/sas-signature.js';
import { connectionOf, type ConnectionFlags } from '../client/connection-options.js';
import { containerLetters, inWords } from './permission-letters.js';
import { permissionsOrPolicy, policyInWords } from './policy-terms.js';
import { signerOf } from './signer.js';
import { termsOf, type TermFlags, type Terms } from './term-options.js';
import { termsInWords, tokenText, type TokenFormat } from './token-output.js';

export interface ServiceTokenFlags extends ConnectionFlags, TermFlags {
  readonly permissions?: string;
  readonly format: TokenFormat;
}

/** The signed fields that tokens of all services have. */
interface CommonFields extends Terms {
  readonly permissions: string | undefined;
  readonly identifier: string | undefined;
}

interface ServiceToken {
  readonly service: ServiceName;
  /** The path that the token is for, behind the account. */
  readonly path: string;
  /** What it gives access to, such as `rows of the table people`. */
  readonly what: string;
  readonly sign: (fields: CommonFields, signer: SasSigner) => string;
}

/** Makes a token for one container of a service, or for a part of it, as text to print. */
export function serviceToken(
  flags: ServiceTokenFlags,
  nowMicros: number,
  { service, path, what, sign }: ServiceToken,
): string {
  const { policy: identifier, format } = flags;
  const connection = connectionOf(flags, service);
  const permissions = permissionsOrPolicy(flags);
  const terms = termsOf(flags, nowMicros);
  const token = sign({ permissions, identifier, ...terms }, signerOf(connection));
  const may = permissions === undefined ? 'touch' : inWords(permissions, containerLetters(service));
  const made = {
    token,
    urls: [['url', `${connection.endpoint}/${path}?${token}`]],
    allows: `${may} ${what}${termsInWords(terms, nowMicros)}${policyInWords(identifier)}`,
  } as const;
  return tokenText(made, format);
}
