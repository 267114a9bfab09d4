import { isUtf8 } from 'node:buffer';
import type { ByteRange } from '../../base/byte-range.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { Randomness } from '../../base/randomness.js';
import type { QueryOptions } from '../../wire/http/query-string.js';
import type { Resource } from '../../wire/odata/resource.js';
import type { TableService } from '../../services/tables/table-service.js';
import { accountName, type ServiceBackend, type ServiceRequest } from '../operations/request.js';
import type { Exchange } from '../exchange/exchange.js';
import { effectiveMethod, parseRequestPath, tableOf } from './request-target.js';
import type { RequestRules } from '../operations/request-rules.js';

/** The backend of table operations. */
export interface TableBackend extends ServiceBackend {
  readonly tables: TableService;
  readonly randomness: Randomness;
  /** The rules for requests of this server. */
  readonly rules: RequestRules;
}

/** One request to the table service: an HTTP request, or one inside a batch. */
export interface TableRequest extends ServiceRequest<TableBackend> {
  /** The HTTP request that carries this one: itself, or the batch around it. */
  readonly exchange: Exchange;
  /** The effective method, after `X-HTTP-Method`. */
  readonly method: string;
  readonly resource: Resource;
  readonly query: QueryOptions;
  /** By lower-case name. */
  header(name: string): string | undefined;
  /** The body as text. */
  text(): string;
  /** The body as UTF-8; undefined when it is not. */
  bytes(): ByteRange | undefined;
}

/**
 * An HTTP request of its own. Throws for an unknown method in `X-HTTP-Method` or an invalid path.
 */
export class ExchangeRequest implements TableRequest {
  readonly backend: TableBackend;
  readonly exchange: Exchange;
  readonly method: string;
  readonly resource: Resource;

  constructor(backend: TableBackend, exchange: Exchange) {
    this.backend = backend;
    this.exchange = exchange;
    this.method = effectiveMethod(exchange.method, exchange.header('x-http-method'));
    this.resource = parseRequestPath(exchange.resourcePath, this.method);
  }

  get container(): string | undefined {
    return tableOf(this.resource);
  }

  get partitionKey(): string | undefined {
    return this.resource.kind === 'entity' ? this.resource.partitionKey : undefined;
  }

  /** Throws `InvalidInput` when the query string cannot be decoded. */
  get query(): QueryOptions {
    return this.exchange.queryOptions;
  }

  get account(): string {
    return accountName(this.exchange);
  }

  header(name: string): string | undefined {
    return this.exchange.header(name);
  }

  text(): string {
    return textOf(this.exchange.body);
  }

  bytes(): ByteRange | undefined {
    const { body } = this.exchange;
    return isUtf8(body) ? { bytes: body, start: 0, end: body.length } : undefined;
  }
}

/** Refuses bytes that are not UTF-8; they would be stored as replacement characters. */
function textOf(body: Buffer): string {
  if (isUtf8(body)) return body.toString('utf8');
  throw new StorageError('InvalidInput', {
    message: 'An error occurred while processing this request.',
  });
}
