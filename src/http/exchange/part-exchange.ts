import { invariant } from '../../base/invariant.js';
import { authenticationFailed } from '../../model/errors/authentication-failed.js';
import { Exchange, type Address, type PartFailure } from './exchange.js';

/** One request inside of another. */
export interface InnerRequest {
  readonly method: string;
  /** An absolute path and its query string, as sent. */
  readonly target: { readonly path: string; readonly query: string };
  /** Absent: the account of the request around it. */
  readonly address?: Address | undefined;
  readonly headers: Iterable<readonly [name: string, value: string]> & {
    get(name: string): string | undefined;
  };
}

const versionHeader = 'x-ms-version';

/**
 * A request inside of another, with a credential of its own, as the stages of the pipeline see it:
 * one of a batch (blob-service §18), or the one that reads the source of a copy. Its version and
 * its id are those of the request around it, and its account where it names no other.
 */
class PartExchange extends Exchange {
  override readonly method: string;
  readonly #headers: InnerRequest['headers'];

  /** Throws `AuthenticationFailed` for a path of another account. */
  constructor(outer: Exchange, { method, target, headers, address }: InnerRequest) {
    const { service, requestId, timeMicros, startMs, protocol } = outer;
    const start = { service, requestId, timeMicros, startMs, protocol, awaitsContinue: false };
    super(outer.request, outer.response, start);
    this.method = method;
    this.#headers = headers;
    this.path = target.path;
    this.queryText = target.query;
    this.host = outer.host;
    this.version = outer.version;
    this.isVersionChosen = outer.isVersionChosen;
    this.account = address?.account ?? outer.account;
    this.secondary = address?.secondary ?? outer.secondary;
    this.base = address === undefined ? outer.base : baseOf(outer, address);
    this.resourcePath = address?.resourcePath ?? resourcePathOf(outer, target.path);
  }

  override header(name: string): string | undefined {
    return name === versionHeader ? this.version : this.#headers.get(name);
  }

  override get rawHeaders(): readonly string[] {
    return [...this.#headers].flat();
  }
}

/**
 * The request with the caller that its own credential shows. Throws what a request by itself gets
 * for its credential.
 */
export async function authenticatedPart(outer: Exchange, request: InnerRequest): Promise<Exchange> {
  const { authenticatePart } = outer;
  invariant(authenticatePart !== undefined, 'the pipeline authenticates parts');
  const part = new PartExchange(outer, request);
  part.caller = await authenticatePart(part);
  return part;
}

/** How a part has failed. Throws what ends the outer request as well. */
export function failureOfPart(outer: Exchange, error: unknown): PartFailure {
  invariant(outer.failureOfPart !== undefined, 'the pipeline says how parts fail');
  return outer.failureOfPart(outer, error);
}

function baseOf({ protocol, host }: Exchange, { accountPath }: Address): string {
  return `${protocol}://${host}${accountPath}`;
}

/**
 * The path behind the account, which stands in it exactly when it does in the outer request. Throws
 * `AuthenticationFailed` for a path of another account.
 */
export function resourcePathOf({ base, protocol, host }: Exchange, path: string): string {
  const accountPath = base.slice(`${protocol}://${host}`.length);
  if (path.startsWith(`${accountPath}/`)) return path.slice(accountPath.length);
  throw authenticationFailed('The request inside of the batch is for another account.');
}
