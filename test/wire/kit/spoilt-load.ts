import assert from 'node:assert/strict';
import { sendBytes } from './connection.js';
import { statusesOf } from './malformed-http.js';
import { generator, mutate, visible, type Random } from './mutation.js';
import type { SigningClient, WireRequest } from './signing-client.js';

/** Repeats a run. */
export const mutationSeed = Number(process.env['TABULARIUM_TEST_SEED'] ?? Date.now() % 2 ** 31);

export interface SpoiltLoad<Request extends WireRequest> {
  readonly count: number;
  /** Requests that are right, to be spoilt in turn. */
  readonly valid: readonly Request[];
}

/** Headers worth spoiling, and what one says before that when the request does not have it. */
export interface SpoilableHeaders {
  readonly names: readonly string[];
  readonly value: string;
}

/** A request with its path, query, a header or its body spoilt. */
function spoilt<Request extends WireRequest>(
  request: Request,
  { names, value }: SpoilableHeaders,
  random: Random,
): Request {
  const path = request.path ?? '';
  switch (random(request.body === undefined ? 2 : 4)) {
    case 0:
      return { ...request, path: `/${visible(mutate(Buffer.from(path.slice(1)), random))}` };
    case 1: {
      const name = names[random(names.length)] ?? '';
      const known = request.headers?.[name];
      const before = Buffer.from(typeof known === 'string' ? known : value);
      const headers = { ...request.headers, [name]: visible(mutate(before, random)) };
      return { ...request, headers };
    }
    default:
      return { ...request, body: mutate(Buffer.from(request.body ?? ''), random) };
  }
}

function isSound(status: number): boolean {
  return status < 500 || status === 501;
}

function nth<Item>(items: readonly Item[], count: number): Item {
  const item = items[count % items.length];
  assert.ok(item !== undefined);
  return item;
}

/**
 * Sends spoilt requests, signed afterwards so that they reach the inner parsers. No answer is a
 * failure of the server, and every refusal has a code. Returns how often each status came.
 */
export async function sendSpoilt<Request extends WireRequest>(
  client: SigningClient<Request>,
  { count, valid }: SpoiltLoad<Request>,
  headers: SpoilableHeaders,
): Promise<ReadonlyMap<number, number>> {
  const random = generator(mutationSeed);
  const seen = new Map<number, number>();
  for (let sent = 0; sent < count; sent += 1) {
    const bytes = client.bytes(spoilt(nth(valid, sent), headers, random));
    const shown = () => `seed ${mutationSeed}, request ${sent}: ${bytes.toString('latin1')}`;
    const response = await client.sendRaw(bytes).catch((error: unknown) => {
      throw new Error(shown(), { cause: error });
    });
    const { status, head, text } = response;
    const isKnown =
      status < 400 || status === 431 || response.header('x-ms-error-code') !== undefined;
    if (!isSound(status) || !isKnown) assert.fail(`${shown()}\n${head}\n${text}`);
    seen.set(status, (seen.get(status) ?? 0) + 1);
  }
  return seen;
}

const sideBySide = 20;

/** Sends requests of which any bytes were changed after they were signed, the request line too. */
export async function sendWithChangedBytes<Request extends WireRequest>(
  client: SigningClient<Request>,
  { count, valid }: SpoiltLoad<Request>,
): Promise<void> {
  const random = generator(mutationSeed + 1);
  const send = async (sent: number) => {
    const bytes = mutate(client.bytes(nth(valid, sent)), random);
    const { received } = await sendBytes(client.port, bytes, { endAfter: true, quietMs: 5000 });
    const bad = statusesOf(received).find((status) => !isSound(status));
    if (bad !== undefined) {
      assert.fail(`seed ${mutationSeed}, request ${sent}: ${bytes.toString('latin1')}\n${bad}`);
    }
  };
  for (let start = 0; start < count; start += sideBySide) {
    await Promise.all(Array.from({ length: sideBySide }, (_, index) => send(start + index)));
  }
}
