import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ServerProcess } from '../server-process.js';
import {
  contestants,
  type Block,
  type BlockOrder,
  type BlockResult,
  type Contestant,
} from './comparison.js';
import type { OperationName } from './operations.js';

/** Calls in a block: about as long for every operation. */
const callsOf: Readonly<Record<OperationName, number>> = {
  get: 100,
  insert: 100,
  upsert: 100,
  'page of 100': 30,
  'page of 1,000': 8,
  'EGT of 100': 10,
};
/** Rounds before the clock starts: code compiles and connections open. */
const warmUpRounds = 12;

const program = fileURLToPath(new URL('contestant.js', import.meta.url));

/** A contestant in a process of its own, as a program uses a table in one way only. */
async function startContestant({ target }: ServerProcess, name: Contestant): Promise<ChildProcess> {
  const { account } = target;
  const url = `http://${target.host}:${target.port}/${account.name}`;
  const table = name.replaceAll(' ', '');
  const key = account.key.export().toString('base64');
  const child = fork(program, [name, url, account.name, key, table]);
  await answerOf(child);
  return child;
}

async function answerOf(child: ChildProcess): Promise<unknown> {
  const ended = new AbortController();
  const { signal } = ended;
  try {
    const death = once(child, 'exit', { signal }).then(() => {
      throw new Error('A contestant ended before its time.');
    });
    const [answer] = (await Promise.race([once(child, 'message', { signal }), death])) as unknown[];
    return answer;
  } finally {
    ended.abort();
  }
}

async function runBlock(child: ChildProcess, order: BlockOrder): Promise<BlockResult> {
  child.send(order);
  return (await answerOf(child)) as BlockResult;
}

/** One operation, round by round; the contestants take turns, and the first of a round changes. */
async function runOperation(
  children: readonly (readonly [Contestant, ChildProcess])[],
  operation: OperationName,
  rounds: number,
): Promise<readonly Block[]> {
  const blocks: Block[] = [];
  const order = { operation, calls: callsOf[operation] };
  for (let round = -warmUpRounds; round < rounds; round += 1) {
    const first = Math.abs(round) % children.length;
    for (const [contestant, child] of [...children.slice(first), ...children.slice(0, first)]) {
      const result = await runBlock(child, order);
      if (round >= 0) blocks.push({ operation, contestant, round, ...result });
    }
  }
  return blocks;
}

/** All contestants on one server, one block at a time. */
export async function runRounds(
  server: ServerProcess,
  operations: readonly OperationName[],
  rounds: number,
): Promise<readonly Block[]> {
  const blocks: Block[] = [];
  const children: [Contestant, ChildProcess][] = [];
  try {
    for (const name of contestants) children.push([name, await startContestant(server, name)]);
    for (const operation of operations) {
      blocks.push(...(await runOperation(children, operation, rounds)));
    }
  } finally {
    for (const [, child] of children) child.disconnect();
  }
  return blocks;
}
