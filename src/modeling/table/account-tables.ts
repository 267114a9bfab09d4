import type { TableServiceClient } from '@azure/data-tables';
import { systemClock, type Clock } from '../../base/clock.js';
import type { RequestSummary } from '../rows/model-error.js';
import { TableNotFoundError } from './errors.js';
import type { TableOptions } from './gateway.js';
import { observed, type RequestObserver, type RequestReport } from './observed-request.js';
import { fromSdkError } from './sdk-error.js';

/** The part of `TableServiceClient` that is used here. */
export type TableAccount = Pick<TableServiceClient, 'createTable' | 'deleteTable' | 'listTables'>;

export interface TableNames {
  readonly names: readonly string[];
  /** The time of the answer by the service's clock, in microseconds since 1970; if it is known. */
  readonly serviceMicros?: number;
  /** Opaque; absent at the end. */
  readonly cursor?: string;
}

/** The tables of an account. Each method sends one request. */
export interface AccountTables {
  /**
   * Creates a table. `exists` also when it existed before; `being-deleted`, and nothing is created,
   * while a table of that name is being deleted, which takes the cloud service about 40 seconds.
   */
  create(name: string): Promise<'exists' | 'being-deleted'>;
  /**
   * Deletes a table with all its rows; succeeds when there is none. The service may still be
   * deleting it when this resolves.
   */
  drop(name: string): Promise<void>;
  /** A page of at most 1,000 table names, in order, that match an OData filter. */
  names(filter: string, cursor?: string): Promise<TableNames>;
}

/** The tables of an account, through the official client and its retries. Sends nothing. */
export function openAccountTables(
  account: TableAccount,
  options: TableOptions = {},
): AccountTables {
  return new ClientTables(account, options);
}

type TableRequest = Extract<RequestReport['kind'], 'create-table' | 'delete-table' | 'list-tables'>;

/** The part of the client's answer that is used here. */
interface Answer {
  readonly headers: { get(name: string): string | undefined };
}

class ClientTables implements AccountTables {
  readonly #account: TableAccount;
  readonly #observer: RequestObserver | undefined;
  readonly #clock: Clock;

  constructor(account: TableAccount, { observer, clock = systemClock }: TableOptions) {
    this.#account = account;
    this.#observer = observer;
    this.#clock = clock;
  }

  async create(name: string): Promise<'exists' | 'being-deleted'> {
    const summary = { table: name, operation: 'create table' };
    try {
      await this.#observe('create-table', summary, () => this.#account.createTable(name));
      return 'exists';
    } catch (error) {
      if (isBeingDeleted(error)) return 'being-deleted';
      throw error;
    }
  }

  async drop(name: string): Promise<void> {
    const summary = { table: name, operation: 'delete table' };
    try {
      await this.#observe('delete-table', summary, () => this.#account.deleteTable(name));
    } catch (error) {
      if (!(error instanceof TableNotFoundError)) throw error;
    }
  }

  async names(filter: string, cursor?: string): Promise<TableNames> {
    const summary = { table: 'Tables', operation: 'list tables', filter };
    let serviceMicros = Number.NaN;
    const onResponse = ({ headers }: Answer) => {
      serviceMicros = Date.parse(headers.get('date') ?? '') * 1000;
    };
    const pages = this.#account
      .listTables({ queryOptions: { filter }, onResponse })
      .byPage(cursor === undefined ? {} : { continuationToken: cursor });
    const page = await this.#observe('list-tables', summary, () => pages.next());
    if (page.done === true) return { names: [] };
    const names = page.value.flatMap(({ name }) => (name === undefined ? [] : [name]));
    const next = page.value.continuationToken;
    return {
      names,
      ...(next === undefined ? {} : { cursor: next }),
      ...(Number.isNaN(serviceMicros) ? {} : { serviceMicros }),
    };
  }

  async #observe<T>(
    kind: TableRequest,
    summary: RequestSummary,
    send: () => Promise<T>,
  ): Promise<T> {
    const watch = { observer: this.#observer, clock: this.#clock };
    try {
      return await observed({ kind, summary, entities: 0 }, send, watch);
    } catch (error) {
      throw fromSdkError(error, summary);
    }
  }
}

function isBeingDeleted(error: unknown): boolean {
  return error instanceof TableNotFoundError && error.code === 'TableBeingDeleted';
}
