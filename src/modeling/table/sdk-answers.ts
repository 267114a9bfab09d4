import { rowOfJson, type JsonEntity } from '../rows/json-entity.js';
import { DecodeError } from '../rows/model-error.js';
import type { StoredRow } from '../rows/row.js';
import { findWholeDoubles, mayHoldWholeDoubles } from '../rows/whole-doubles.js';

/**
 * Captures a response before the official client makes entities of it, which would round dates to
 * milliseconds and turn whole Doubles into Int32. Tells the client to parse only errors, which
 * saves most of the work of a page.
 */
export class RawAnswer {
  #answer: Answer | undefined;

  /** Options of the request whose response this captures. */
  readonly options = {
    onResponse: (answer: Answer, flat?: unknown): void => {
      this.#answer = answer;
      // The client continues with this value: without rows, it makes no entities.
      if (isPage(flat)) flat.value = [];
    },
    requestOptions: {
      shouldDeserialize: ({ status }: { readonly status: number }): boolean => status >= 400,
    },
  };

  /** The row of a point read. */
  row(): StoredRow {
    return rowOfJson(objectOf(this.#answer?.parsedBody), this.#wholeDoubles()?.get(0));
  }

  /** The rows of a page. */
  rows(): readonly StoredRow[] {
    const { value } = objectOf(this.#answer?.parsedBody);
    if (!Array.isArray(value)) throw new DecodeError('The answer to a query has no list of rows');
    const doubles = this.#wholeDoubles();
    return value.map((entity, index) => rowOfJson(objectOf(entity), doubles?.get(index)));
  }

  /** The start of the next page, in the client's form; undefined at the end. */
  cursor(): string | undefined {
    const headers = this.#answer?.headers;
    const nextPartitionKey = headers?.get('x-ms-continuation-nextpartitionkey');
    if (nextPartitionKey === undefined || nextPartitionKey === '') return undefined;
    const nextRowKey = headers?.get('x-ms-continuation-nextrowkey');
    const token =
      nextRowKey === undefined ? { nextPartitionKey } : { nextPartitionKey, nextRowKey };
    return Buffer.from(JSON.stringify(token)).toString('base64');
  }

  #wholeDoubles(): ReturnType<typeof findWholeDoubles> | undefined {
    const text = this.#answer?.bodyAsText ?? '';
    return mayHoldWholeDoubles(text) ? findWholeDoubles(text) : undefined;
  }
}

function isPage(flat: unknown): flat is { value: readonly unknown[] } {
  const isObject = typeof flat === 'object' && flat !== null;
  return isObject && 'value' in flat && Array.isArray(flat.value);
}

interface Answer {
  readonly bodyAsText?: string | null;
  readonly parsedBody?: unknown;
  readonly headers: { get(name: string): string | undefined };
}

function objectOf(value: unknown): JsonEntity {
  if (typeof value === 'object' && value !== null) return value as JsonEntity;
  throw new DecodeError('The answer is no JSON object');
}
