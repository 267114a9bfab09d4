import type { SimRandom } from '../support/sim-random.js';
import type { CommitInput, CommitOutput, LogInput, LogOutput } from './blob-models.js';

const leases = ['a', 'b'].map((each) => `0${each}000000-0000-4000-8000-000000000000`);

/** The next request of a client of a log. `known`: the answer to its last one. */
export function drawLog(random: SimRandom, known: LogOutput | undefined): LogInput {
  const lease = random.pick(leases);
  switch (random.weighted({ append: 6, read: 2, acquire: 1, release: 2 })) {
    case 'read':
      return { kind: 'read' };
    case 'acquire':
      return { kind: 'acquire', lease };
    case 'release':
      return { kind: 'release', lease };
    default: {
      const end = known?.kind === 'appended' ? known.offset + 1 : random.int(4);
      const at = random.chance(0.5) ? end : undefined;
      const letter = String.fromCharCode(97 + random.int(26));
      return { kind: 'append', letter, at, lease: random.chance(0.3) ? lease : undefined };
    }
  }
}

/** The same of a blob that is committed. `first`: its ETag at the beginning. */
export function drawCommit(
  random: SimRandom,
  known: CommitOutput | undefined,
  first: string,
): CommitInput {
  if (random.chance(0.3)) return { kind: 'read' };
  const seen = known?.kind === 'is' ? known.etag : first;
  const ifMatch = random.chance(0.6) ? seen : undefined;
  return { kind: 'commit', block: 'x'.repeat(random.between(1, 9)), ifMatch };
}
