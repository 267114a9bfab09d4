import { isIP } from 'node:net';
import { StorageError } from '../../model/errors/storage-error.js';
import { decidingRule } from '../cors/deciding-rule.js';
import { isPreflight } from '../cors/load-cors-rules.js';
import type { CorsRuleSource } from '../exchange/cors-rule-source.js';
import type { Exchange } from '../exchange/exchange.js';

/**
 * Keeps pages of the web from accounts whose key everybody knows. A page can sign requests for them
 * as well as anybody else, and it runs in a browser that reaches this machine. So such an account
 * answers only where the `Host` is no name that a stranger may own and point here, and where the
 * page that asks, if one does, has an origin that the CORS rules of the account allow.
 */
export class PublicKeyGuard {
  readonly #allowed: ReadonlySet<string>;
  /** The last host that was let in: most requests have the same one. */
  #lastHost = '';

  /** `allowHosts`: names in lower case, `.example.com` for all under it, or `*` for any. */
  constructor(allowHosts: readonly string[] = []) {
    this.#allowed = new Set(allowHosts.map((name) => name.toLowerCase()));
  }

  /** Throws `AuthorizationFailure`. The account must be known. */
  checkHost({ account, host }: Exchange): void {
    if (account?.isPublic !== true || host === this.#lastHost) return;
    const name = hostName(host);
    if (!isOutOfReach(name) && !this.#isAllowed(name)) throw foreignHost(account.name, name);
    this.#lastHost = host;
  }

  /**
   * Rejects with `AuthorizationFailure`. The rules that are for the origin must have been read.
   *
   * @returns undefined: there is nothing to wait for
   */
  checkOrigin(exchange: Exchange, rules: CorsRuleSource): Promise<void> | undefined {
    const { account } = exchange;
    if (account?.isPublic !== true || isPreflight(exchange) || !isOfOtherPage(exchange)) {
      return undefined;
    }
    return checkRules(exchange, account.name, rules);
  }

  #isAllowed(name: string): boolean {
    if (this.#allowed.has('*') || this.#allowed.has(name)) return true;
    const labels = name.split('.');
    return labels.some((_, at) => at > 0 && this.#allowed.has(`.${labels.slice(at).join('.')}`));
  }
}

/** `name` of `Name.:10002`, `::1` of `[::1]:10002`. */
function hostName(host: string): string {
  const bracketed = /^\[([^\]]*)\]/.exec(host)?.[1];
  return (bracketed ?? host.replace(/:\d*$/, '')).toLowerCase().replace(/\.$/, '');
}

/**
 * Names under these are of this machine, of its networks, or nobody's (RFC 2606, 6762, 8375), or of
 * the cloud service, which points them at its own machines alone.
 */
const ownSuffix =
  /\.(?:localhost|local|internal|home\.arpa|test|example|invalid|core\.windows\.net)$/;

/**
 * Whether no page of the web can have this name: addresses, which no DNS answer stands behind,
 * names of one label, as containers and machines of a network have, and those that cannot be
 * registered.
 */
function isOutOfReach(name: string): boolean {
  return !name.includes('.') || isIP(name.split('%')[0] ?? '') !== 0 || ownSuffix.test(name);
}

/**
 * Whether a browser says that a page of another origin has caused the request. Forms, images and
 * links of a page have no `Origin` always; what they are says `Sec-Fetch-Site`.
 */
function isOfOtherPage(exchange: Exchange): boolean {
  const origin = exchange.header('origin');
  if (origin !== undefined) return origin !== `${exchange.protocol}://${exchange.host}`;
  const site = exchange.header('sec-fetch-site');
  return site !== undefined && site !== 'none' && site !== 'same-origin';
}

async function checkRules(
  exchange: Exchange,
  account: string,
  rules: CorsRuleSource,
): Promise<void> {
  const { method } = exchange;
  const origin = exchange.header('origin');
  const known = origin === undefined ? await rules.read(account) : exchange.corsRules;
  if (decidingRule(known, { origin, method }) === undefined) throw foreignPage(account);
}

function foreignHost(account: string, name: string): StorageError {
  return refused(
    `The key of the account '${account}' is public, and pages of the web may be behind the host ` +
      `name '${name}'. Start the server with --allow-host ${name} (in a program: allowHosts), or ` +
      'give the account a key of its own.',
  );
}

function foreignPage(account: string): StorageError {
  return refused(
    `The key of the account '${account}' is public, so pages may use it only from origins that ` +
      'its CORS rules allow. Set a rule for the origin, or give the account a key of its own.',
  );
}

function refused(why: string): StorageError {
  const message = `This request is not authorized to perform this operation. ${why}`;
  return new StorageError('AuthorizationFailure', { message });
}
