import type { SimRandom } from '../support/sim-random.js';
import { sendBytes } from '../wire/kit/connection.js';
import { malformedHttp, statusesOf } from '../wire/kit/malformed-http.js';
import { mutate } from '../wire/kit/mutation.js';

/** Bytes that are no request or several, made from valid ones: cut, changed, joined, or empty. */
export function mutatedBytes(random: SimRandom, requests: readonly Buffer[]): Buffer {
  const [request = Buffer.alloc(0)] = requests;
  switch (random.weighted({ mutate: 6, cut: 2, pipeline: 3, noise: 2, tls: 2, malformed: 2 })) {
    case 'mutate':
      return mutate(request, (below) => random.int(below));
    case 'cut':
      return request.subarray(0, random.int(request.length + 1));
    case 'pipeline':
      return Buffer.concat(requests);
    case 'noise':
      return random.bytes(random.between(1, 3000));
    case 'tls':
      return tlsRecords(random);
    default:
      return Buffer.from(random.pick(malformedHttp)[1], 'latin1');
  }
}

/** TLS records with senseless or incomplete content. */
export function tlsRecords(random: SimRandom): Buffer {
  const record = (): Buffer => {
    const inside = random.bytes(random.between(0, 400));
    // Mostly a handshake record that claims to be a ClientHello.
    if (random.chance(0.7)) inside.set([1, 0, 0, 100, 3, 3].slice(0, inside.length));
    const type = random.pick([20, 21, 22, 22, 22, 23, 24, 255]);
    const length = random.chance(0.8) ? inside.length : random.int(65_536);
    return Buffer.concat([
      Buffer.of(type, 3, random.pick([0, 1, 3, 4, 9]), length >> 8, length & 255),
      inside,
    ]);
  };
  return Buffer.concat(Array.from({ length: random.between(1, 4) }, record));
}

/**
 * Sends bytes and half-closes, on a new connection. Returns what is wrong with the received bytes;
 * undefined for refusals and responses, or nothing, followed by the end.
 */
export async function rawFault(
  port: number,
  bytes: Buffer,
): Promise<{ readonly fault: string | undefined; readonly received: string }> {
  const { received, closed } = await sendBytes(port, bytes, { endAfter: true });
  const text = received.toString('latin1');
  return { fault: closed ? faultIn(received) : 'neither answered nor closed', received: text };
}

function faultIn(received: Buffer): string | undefined {
  const bad = statusesOf(received).find((status) => status >= 500 && status !== 501);
  return bad === undefined ? undefined : `status ${bad}`;
}
