import { isUtf8 } from 'node:buffer';
import { StorageError } from '../../model/errors/storage-error.js';
import type { Randomness } from '../../base/randomness.js';
import type { QueryOptions } from '../../wire/http/query-string.js';
import type { Resource } from '../../wire/odata/resource.js';
import type { TableService } from '../../services/tables/table-service.js';
import { accountName, type ServiceBackend, type ServiceRequest } from '../operations/request.js';
import type { Exchange } from '../exchange/exchange.js';
import type { Leniency } from '../pipeline/leniency.js';

/** What operations work on. */
export interface TableBackend extends ServiceBackend {
  readonly tables: TableService;
  readonly randomness: Randomness;
  /** What the service accepts beyond what the cloud service does. */
  readonly leniency: Leniency;
}

/** One request to the table service: a whole HTTP request, or one inside a batch. */
export interface TableRequest extends ServiceRequest<TableBackend> {
  /** The HTTP request that carries this one: itself, or the batch around it. */
  readonly exchange: Exchange;
  /** The method meant, after `X-HTTP-Method`. */
  readonly method: string;
  readonly resource: Resource;
  readonly query: QueryOptions;
  /** By lower-case name. */
  header(name: string): string | undefined;
  /** The body as text. */
  text(): string;
}

export type RequestTarget = Pick<TableRequest, 'method' | 'resource' | 'query'>;

/** A request that is an HTTP request of its own. */
export class ExchangeRequest implements TableRequest {
  readonly backend: TableBackend;
  readonly exchange: Exchange;
  readonly method: string;
  readonly resource: Resource;
  readonly query: QueryOptions;

  constructor(backend: TableBackend, exchange: Exchange, target: RequestTarget) {
    this.backend = backend;
    this.exchange = exchange;
    this.method = target.method;
    this.resource = target.resource;
    this.query = target.query;
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
}

/** Bytes that are not UTF-8 are refused rather than stored as replacement characters. */
function textOf(body: Buffer): string {
  if (isUtf8(body)) return body.toString('utf8');
  throw new StorageError('InvalidInput', {
    message: 'An error occurred while processing this request.',
  });
}
