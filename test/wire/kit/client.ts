import type { TabulariumServer } from '../../../src/app/index.js';
import type { Dial } from './connection.js';
import type { Headers } from './request-bytes.js';
import type { WireResponse } from './response.js';
import { authorizationOf, developmentAccount, developmentKey } from './signature.js';
import { SigningClient, type SignableRequest, type WireRequest } from './signing-client.js';

export interface QueryOptions {
  readonly filter?: string;
  readonly top?: number | string;
  readonly select?: string;
  readonly next?: Readonly<Record<string, string>>;
  readonly headers?: Headers;
}

export const acceptMinimal = 'application/json;odata=minimalmetadata';
export const acceptFull = 'application/json;odata=fullmetadata';
export const acceptNone = 'application/json;odata=nometadata';

/**
 * A key as clients write it into a URL: quotes doubled, then percent-encoded (table-service §1.3).
 */
export function urlKey(key: string): string {
  return encodeURIComponent(key.replaceAll("'", "''"));
}

/** The path of an entity after the account. */
export function entityPath(table: string, partitionKey: string, rowKey: string): string {
  return `/${table}(PartitionKey='${urlKey(partitionKey)}',RowKey='${urlKey(rowKey)}')`;
}

/** A string literal of a filter. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A client of the table service: signed, version 2019-02-02, minimal metadata. */
export class WireClient extends SigningClient<WireRequest> {
  protected readonly defaultPath = '/Tables';
  protected readonly bodyType = 'application/json';
  protected readonly scheme = 'SharedKeyLite';
  #tables = 0;

  constructor(
    port: number,
    account = developmentAccount,
    key = developmentKey,
    options: { readonly dial?: Dial } = {},
  ) {
    super(port, { account, key }, options.dial);
  }

  static of(server: TabulariumServer): WireClient {
    return new WireClient(server.tablePort);
  }

  /** Scheme, authority and account, which the protocol calls {base}. */
  get base(): string {
    return `http://${this.authority}/${this.account}`;
  }

  protected defaultHeaders(): Headers {
    return {
      Accept: acceptMinimal,
      'x-ms-version': '2019-02-02',
      'x-ms-date': new Date().toUTCString(),
      DataServiceVersion: '3.0;',
    };
  }

  protected authorization({ headers, ...request }: SignableRequest): string {
    const one = (name: string): string => {
      const value = headers[name];
      return typeof value === 'string' ? value : (value?.[0] ?? '');
    };
    return authorizationOf({
      ...request,
      date: headers['x-ms-date'] === undefined ? one('Date') : one('x-ms-date'),
      contentMd5: one('Content-MD5'),
      contentType: one('Content-Type'),
    });
  }

  createTable(name: string, headers: Headers = {}): Promise<WireResponse> {
    const body = JSON.stringify({ TableName: name });
    return this.send({ method: 'POST', path: '/Tables', body, headers });
  }

  /** Creates a table and returns its name. */
  async newTable(prefix = 'table'): Promise<string> {
    this.#tables += 1;
    const name = `${prefix}${this.#tables}`;
    const response = await this.createTable(name);
    if (response.status !== 201) throw new Error(`no table ${name}: ${response.text}`);
    return name;
  }

  /** Inserts an entity given as an object or, where numbers must be exact, as JSON text. */
  insert(table: string, entity: object | string, headers: Headers = {}): Promise<WireResponse> {
    const body = typeof entity === 'string' ? entity : JSON.stringify(entity);
    return this.send({ method: 'POST', path: `/${table}`, body, headers });
  }

  /** Inserts entities, each of which must succeed. */
  async put(table: string, ...entities: readonly (object | string)[]): Promise<void> {
    for (const entity of entities) {
      const response = await this.insert(table, entity, { Prefer: 'return-no-content' });
      if (response.status !== 204) throw new Error(`not inserted: ${response.text}`);
    }
  }

  get(
    table: string,
    partitionKey: string,
    rowKey: string,
    headers: Headers = {},
  ): Promise<WireResponse> {
    return this.send({ path: entityPath(table, partitionKey, rowKey), headers });
  }

  query(table: string, options: QueryOptions = {}): Promise<WireResponse> {
    const parts: string[] = [];
    if (options.filter !== undefined) parts.push(`$filter=${encodeURIComponent(options.filter)}`);
    if (options.top !== undefined) parts.push(`$top=${options.top}`);
    if (options.select !== undefined) parts.push(`$select=${encodeURIComponent(options.select)}`);
    for (const [name, value] of Object.entries(options.next ?? {})) {
      parts.push(`${name}=${encodeURIComponent(value)}`);
    }
    const query = parts.length === 0 ? '' : `?${parts.join('&')}`;
    return this.send({ path: `/${table}()${query}`, headers: options.headers ?? {} });
  }

  /** Row keys of one page, in the order of the response. */
  async rowKeys(table: string, filter?: string): Promise<unknown[]> {
    const response = await this.query(table, filter === undefined ? {} : { filter });
    if (response.status !== 200) {
      throw new Error(`query ${filter ?? ''} answered ${response.status} ${response.text}`);
    }
    return response.items.map((item) => item['RowKey']);
  }
}
