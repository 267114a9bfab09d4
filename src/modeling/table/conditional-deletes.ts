import type { TableClient } from '@azure/data-tables';
import { invariant } from '../../base/invariant.js';

/**
 * The official client sends every delete of a transaction with `If-Match: *`. A policy in its
 * pipeline replaces that by the given ETags in the body of the request. It recognises the
 * transaction by its abort signal, which the client passes on with the request.
 */
const policyName = 'tabularium-conditional-deletes';
const etagsBySignal = new WeakMap<object, readonly string[]>();

interface TransactionOptions {
  readonly abortSignal?: AbortSignal;
}

/** Options for `submitTransaction` that carry the ETags of its deletes, in order. */
export function conditionalDeletes(
  client: TableClient,
  etags: readonly string[],
): TransactionOptions {
  if (etags.every((etag) => etag === '*')) return {};
  install(client);
  const { signal } = new AbortController();
  etagsBySignal.set(signal, etags);
  return { abortSignal: signal };
}

function install({ pipeline }: TableClient): void {
  if (pipeline.getOrderedPolicies().some(({ name }) => name === policyName)) return;
  pipeline.addPolicy({
    name: policyName,
    async sendRequest(request, next) {
      const etags =
        request.abortSignal === undefined ? undefined : etagsBySignal.get(request.abortSignal);
      if (etags !== undefined && typeof request.body === 'string') {
        request.body = withEtags(request.body, etags);
        // An earlier policy has set the length of the original body.
        request.headers.set('content-length', String(Buffer.byteLength(request.body)));
      }
      return next(request);
    },
  });
}

const part = /(\r\n\r\nDELETE [^\r\n]+\r\n(?:[^\r\n]+\r\n)*?if-match: )([^\r\n]*)/gi;

/** The body of a transaction with the ETags of its deletes, in order. */
export function withEtags(body: string, etags: readonly string[]): string {
  let count = 0;
  const written = body.replace(
    part,
    (_whole, before: string) => `${before}${etags[count++] ?? ''}`,
  );
  invariant(count === etags.length, `${count} deletes found in a transaction of ${etags.length}`);
  return written;
}
