import { InvalidSettingError, Members } from '../base/members.js';
import { defaultLimits } from '../http/pipeline/limits.js';
import type { OAuthOptions } from './oauth/options.js';
import type { PemOptions, PfxOptions, TlsOptions } from './tls/options.js';
import type { AccountOptions, ServerChanges, ServerOptions } from './options.js';
import { ServerOptionsError } from './server-options-error.js';

// Every member there is: the compiler says when one is missing here.
const serverOptions: Readonly<Record<keyof ServerOptions, true>> = {
  location: true,
  inMemory: true,
  host: true,
  tablePort: true,
  queuePort: true,
  tableHost: true,
  queueHost: true,
  allowHosts: true,
  tls: true,
  accounts: true,
  durability: true,
  observers: true,
  logger: true,
  onFatal: true,
  limits: true,
  tableLimits: true,
  queueLimits: true,
  init: true,
  checkClockSkew: true,
  oauth: true,
  clock: true,
  timers: true,
  randomness: true,
  lenient: true,
  strictApiVersions: true,
  tableDeleteDelayMs: true,
  pagingTestMode: true,
  faults: true,
  throttle: true,
  controlPort: true,
};
const serverChanges: Readonly<Record<keyof ServerChanges, true>> = {
  accounts: true,
  tls: true,
  faults: true,
  throttle: true,
};
const tlsMembers: Readonly<Record<keyof PemOptions | keyof PfxOptions, true>> = {
  cert: true,
  key: true,
  pfx: true,
  passphrase: true,
  passphraseFile: true,
};
const oauthMembers: Readonly<Record<keyof OAuthOptions, true>> = {
  issuer: true,
  audience: true,
  jwks: true,
  algorithms: true,
  clockToleranceSeconds: true,
  roles: true,
  allowHttp: true,
};
const limitMembers = Object.keys(defaultLimits);
const accountMembers = ['name', 'key', 'keys'];

/**
 * Refuses members that there are not, which a program without types can give: they would be left
 * out silently. Throws `ServerOptionsError`.
 */
export function checkOptionNames(options: ServerOptions): void {
  checkMembers('createServer({…})', options, Object.keys(serverOptions));
  checkAccountNames(options.accounts);
  checkTlsNames(options.tls);
  checkNested('oauth', options.oauth, Object.keys(oauthMembers));
  checkNested('limits', options.limits, limitMembers);
  checkNested('tableLimits', options.tableLimits, limitMembers);
  checkNested('queueLimits', options.queueLimits, limitMembers);
  const { pagingTestMode } = options;
  if (typeof pagingTestMode !== 'boolean') checkNested('pagingTestMode', pagingTestMode, ['seed']);
}

/** As `checkOptionNames`, for what a running server is to change. */
export function checkChangeNames(changes: ServerChanges): void {
  checkMembers('reload({…})', changes, Object.keys(serverChanges));
  checkAccountNames(changes.accounts);
  checkTlsNames(changes.tls);
}

function checkTlsNames(tls: TlsOptions | undefined): void {
  if (typeof tls !== 'string') checkNested('tls', tls, Object.keys(tlsMembers));
}

function checkNested(place: string, value: unknown, known: readonly string[]): void {
  if (value !== undefined) checkMembers(place, value, known);
}

function checkAccountNames(accounts: readonly AccountOptions[] | undefined): void {
  if (accounts === undefined) return;
  if (!Array.isArray(accounts)) throw new ServerOptionsError('accounts must be a list of accounts');
  for (const [at, account] of accounts.entries()) {
    checkMembers(`accounts[${at}]`, account, accountMembers);
  }
}

function checkMembers(place: string, value: unknown, known: readonly string[]): Members {
  try {
    return new Members(place, value, known);
  } catch (error) {
    if (!(error instanceof InvalidSettingError)) throw error;
    throw new ServerOptionsError(error.message);
  }
}
