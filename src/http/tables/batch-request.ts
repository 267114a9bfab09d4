import type { ByteRange } from '../../base/byte-range.js';
import type { BatchOperation } from '../../wire/batch/part-reader.js';
import { secondarySuffix } from '../../model/services/services.js';
import { splitTarget } from '../../wire/batch/target.js';
import { parseQueryString, type QueryOptions } from '../../wire/http/query-string.js';
import { parseResourcePath, type Resource } from '../../wire/odata/resource.js';
import { accountName } from '../operations/request.js';
import type { Exchange } from '../exchange/exchange.js';
import { effectiveMethod } from './request-target.js';
import type { TableBackend, TableRequest } from './request.js';

/**
 * A request inside a batch. Throws as a single request does: for its method, its path and its query
 * string. Its host and signature are ignored: the batch is authenticated.
 */
export class BatchRequest implements TableRequest {
  readonly backend: TableBackend;
  readonly exchange: Exchange;
  readonly method: string;
  readonly resource: Resource;
  readonly query: QueryOptions;
  readonly #part: BatchOperation;

  constructor(outer: TableRequest, part: BatchOperation) {
    const { path, query } = splitTarget(part.target);
    this.backend = outer.backend;
    this.exchange = outer.exchange;
    this.method = effectiveMethod(part.method, part.headers.get('x-http-method'));
    this.resource = parseResourcePath(withoutAccount(path, outer.account));
    this.query = parseQueryString(query);
    this.#part = part;
  }

  get account(): string {
    return accountName(this.exchange);
  }

  header(name: string): string | undefined {
    return this.#part.headers.get(name);
  }

  text(): string {
    return this.#part.text();
  }

  bytes(): ByteRange | undefined {
    return this.#part.bytes();
  }
}

/**
 * Clients write the path with the account or without it, whatever the style of the batch's own URL.
 */
function withoutAccount(path: string, account: string): string {
  if (!path.startsWith(account, 1)) return path;
  const end = 1 + account.length;
  if (path.startsWith('/', end)) return path.slice(end);
  return path.startsWith(`${secondarySuffix}/`, end)
    ? path.slice(end + secondarySuffix.length)
    : path;
}
