import type { Randomness } from '../../base/randomness.js';
import type { BatchMethod } from './part-reader.js';

/** A request to be put into a batch. */
export interface ComposedOperation {
  readonly method: BatchMethod;
  /** Absolute URL or path, percent-encoded. */
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** One line of JSON; empty or absent when there is none. */
  readonly body?: string;
}

/** A request body and the Content-Type that goes with it. */
export interface ComposedBatch {
  readonly contentType: string;
  readonly body: Buffer;
}

const mimeHead = 'Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n';

/**
 * The body of an entity group transaction in the form that the service documents (table-service
 * §9.2).
 */
export function composeBatch(
  operations: readonly ComposedOperation[],
  randomness: Randomness,
): ComposedBatch {
  const outer = `batch_${randomness.uuid()}`;
  const inner = `changeset_${randomness.uuid()}`;
  const parts = operations.map((operation) => `--${inner}\r\n${mimeHead}${request(operation)}`);
  return {
    contentType: `multipart/mixed; boundary=${outer}`,
    body: Buffer.from(
      `--${outer}\r\nContent-Type: multipart/mixed; boundary=${inner}\r\n\r\n` +
        `${parts.join('')}--${inner}--\r\n--${outer}--\r\n`,
    ),
  };
}

/** The body of a batch that holds a single GET. */
export function composeQueryBatch(
  query: Pick<ComposedOperation, 'target' | 'headers'>,
  randomness: Randomness,
): ComposedBatch {
  const outer = `batch_${randomness.uuid()}`;
  return {
    contentType: `multipart/mixed; boundary=${outer}`,
    body: Buffer.from(
      `--${outer}\r\n${mimeHead}${request({ ...query, method: 'GET' })}--${outer}--\r\n`,
    ),
  };
}

function request({ method, target, headers, body = '' }: ComposedOperation): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `${method} ${target} HTTP/1.1\r\n${lines}\r\n${body}\r\n`;
}
