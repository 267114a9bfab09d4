import type { Property } from '../../model/edm/value.js';
import { JsonLexer } from '../../wire/odata/json-lexer.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { CommandFailure, RowError } from '../terminal/failure.js';
import type { ClientResponse } from './storage-client.js';
import type { TableClient } from './table-client.js';
import { readEntityJson } from './entity-json.js';
import { parsePlanHeader, type PlanFacts } from './query-plan.js';
import { briefRetries, retrying } from './retry.js';

export interface QueryRequest {
  readonly table: string;
  readonly filter: string | undefined;
  readonly select: string | undefined;
  /** Rows wanted; undefined for all. */
  readonly limit: number | undefined;
}

export interface QueryPage {
  readonly rows: readonly (readonly Property[])[];
  /** True when there are more rows after this page. */
  readonly hasMore: boolean;
  /** The plan of this page; undefined when the service does not report it. */
  readonly plan: PlanFacts | undefined;
}

const pageRowsMax = 1000;

/** The pages of a query, fetched one at a time until there are enough rows or no more. */
export async function* queryPages(
  client: TableClient,
  { table, filter, select, limit }: QueryRequest,
): AsyncGenerator<QueryPage> {
  let continuation = '';
  let left = limit ?? Infinity;
  do {
    const options = [
      filter === undefined || filter === '' ? '' : `$filter=${encodeURIComponent(filter)}`,
      select === undefined ? '' : `$select=${encodeURIComponent(select)}`,
      left < pageRowsMax ? `$top=${left}` : '',
      continuation,
    ];
    const query = options.filter((option) => option !== '').join('&');
    const response = await retrying(briefRetries, () => client.queryPage(table, query));
    const page = pageOf(response);
    continuation = continuationOf(response);
    left -= page.rows.length;
    yield page;
  } while (continuation !== '' && left > 0);
}

function pageOf(response: ClientResponse): QueryPage {
  const header = response.headers['x-tabularium-plan'];
  return {
    rows: readRows(response),
    hasMore: continuationOf(response) !== '',
    plan: typeof header === 'string' ? parsePlanHeader(header) : undefined,
  };
}

function continuationOf({ headers }: ClientResponse): string {
  return (['NextPartitionKey', 'NextRowKey'] as const)
    .flatMap((name) => {
      const token = headers[`x-ms-continuation-${name.toLowerCase()}`];
      return typeof token === 'string' ? [`${name}=${encodeURIComponent(token)}`] : [];
    })
    .join('&');
}

/** Throws `CommandFailure` for an answer that is not a page of entities. */
function readRows({ body }: ClientResponse): Property[][] {
  try {
    return rowsOf(body.toString('utf8'));
  } catch (error) {
    if (!(error instanceof StorageError) && !(error instanceof RowError)) throw error;
    throw new CommandFailure(`The answer cannot be read as rows: ${error.message}`);
  }
}

/** The entities in `{"value":[…]}`. */
function rowsOf(body: string): Property[][] {
  const rows: Property[][] = [];
  const lexer = new JsonLexer(body);
  lexer.expect(0x7b);
  do {
    const name = lexer.string();
    lexer.expect(0x3a);
    if (name !== 'value') {
      lexer.skipValue();
      continue;
    }
    lexer.expect(0x5b);
    if (lexer.accept(0x5d)) continue;
    do {
      rows.push(readEntityJson(lexer, { timestamp: true }));
    } while (lexer.accept(0x2c));
    lexer.expect(0x5d);
  } while (lexer.accept(0x2c));
  lexer.expect(0x7d);
  return rows;
}
