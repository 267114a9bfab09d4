import { isIP } from 'node:net';
import { StorageError } from '../../model/errors/storage-error.js';
import { decidingRule } from '../cors/deciding-rule.js';
import { isPreflight } from '../cors/load-cors-rules.js';
import type { CorsRuleSource } from '../exchange/cors-rule-source.js';
import type { Exchange } from '../exchange/exchange.js';

/**
 * Protects accounts with a public key from web pages. Any page can sign requests for such an
 * account, and runs in a browser that reaches this machine. So the account answers only when the
 * `Host` is a name that no stranger can own and point here (DNS rebinding), and when the origin of
 * the page, if there is one, is allowed by the CORS rules of the account.
 */
export class PublicKeyGuard {
  readonly #allowed: ReadonlySet<string>;
  /** The last accepted host, a cache: most requests have the same one. */
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
   * Rejects with `AuthorizationFailure`. The rules for the origin must have been loaded.
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
 * Suffixes of local names, of reserved names (RFC 2606, 6762, 8375), and of the cloud service,
 * which resolves them to its own machines.
 */
const ownSuffix =
  /\.(?:localhost|local|internal|home\.arpa|test|example|invalid|core\.windows\.net)$/;

/**
 * True when no web page can have this name: addresses, which need no DNS; names of one label, as
 * containers and local machines have; and names that cannot be registered.
 */
function isOutOfReach(name: string): boolean {
  return !name.includes('.') || isIP(name.split('%')[0] ?? '') !== 0 || ownSuffix.test(name);
}

/**
 * True when the browser says that a page of another origin caused the request. Forms, images and
 * links do not always send `Origin`; `Sec-Fetch-Site` covers them.
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
