import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { costly, isLong } from '../../support/run-length.js';
import { allMoments, crashEverywhere, type Doomed } from './crash-points.js';

// The harness itself, with a store of numbers: it must detect faulty patterns.

class Numbers {
  readonly #values = new Map<string, number>();

  async put(name: string, value: number): Promise<void> {
    await Promise.resolve();
    this.#values.set(name, value);
  }

  async get(name: string): Promise<number | undefined> {
    await Promise.resolve();
    return this.#values.get(name);
  }

  async remove(name: string): Promise<void> {
    await Promise.resolve();
    if (!this.#values.delete(name)) throw new Error(`${name} is not there`);
  }

  sum(): number {
    return [...this.#values.values()].reduce((total, value) => total + value, 0);
  }
}

async function withSeven(): Promise<Numbers> {
  const numbers = new Numbers();
  await numbers.put('from', 7);
  return numbers;
}

async function move(numbers: Numbers): Promise<void> {
  const value = await numbers.get('from');
  if (value === undefined) return;
  await numbers.put('to', value);
  await numbers.remove('from');
}

const checkSum = (numbers: Numbers) => {
  assert.equal(numbers.sum(), 7);
  return Promise.resolve();
};

describe('crashEverywhere', () => {
  it('lets a pattern pass that any crash leaves recoverable, and tells its requests', async () => {
    const requests = await crashEverywhere({
      prepare: withSeven,
      run: (numbers, doomed) => move(doomed.wrap(numbers)),
      recover: move,
      check: checkSum,
    });
    assert.deepEqual(requests, ['get', 'put', 'remove']);
  });

  it('fails for a request that waits for the process that was killed', async () => {
    const scenario = {
      prepare: withSeven,
      run: (numbers: Numbers, doomed: Doomed) => {
        const wrapped = doomed.wrap(numbers);
        const copy = async () => numbers.put('to', (await wrapped.get('from')) ?? 0);
        return doomed.wrap({ copy }).copy();
      },
      recover: () => Promise.resolve(),
      check: () => Promise.resolve(),
      moments: ['after'],
      requestMsMax: 20,
    } as const;
    await assert.rejects(crashEverywhere(scenario), (error: Error) => {
      assert.match(error.message, /fault at request 2 \(after\)/);
      assert.ok(error.cause instanceof Error);
      assert.match(error.cause.message, /^requests that wait for the process .*: copy$/);
      return true;
    });
  });

  it('kills before and after each request, and withholds each answer', async () => {
    const points: string[] = [];
    await crashEverywhere({
      prepare: withSeven,
      run: (numbers, doomed) => move(doomed.wrap(numbers)),
      recover: async (numbers) => {
        points.push(`${await numbers.get('from')} ${await numbers.get('to')}`);
        return move(numbers);
      },
      check: checkSum,
      moments: allMoments,
    });
    const neither = 'undefined 7';
    const before = ['7 undefined', '7 undefined', '7 7', neither];
    const after = ['7 undefined', '7 7', neither, neither];
    assert.deepEqual(points, [neither, ...before, ...after, ...after]);
  });

  it('names the point at which a pattern breaks', async () => {
    const broken = async (numbers: Numbers) => {
      const value = await numbers.get('from');
      if (value === undefined) return;
      await numbers.remove('from');
      await numbers.put('to', value);
    };
    const run = crashEverywhere({
      prepare: withSeven,
      run: (numbers, doomed) => broken(doomed.wrap(numbers)),
      recover: broken,
      check: checkSum,
      moments: allMoments,
    });
    await assert.rejects(run, /fault at request 3 \(before\), requests so far: get remove put/);
  });

  it(
    'tries a part of the requests of a long run in the short form, any of them in time',
    costly(),
    async () => {
      const count = 24;
      const deaths = new Set<number>();
      for (let time = 0; time < 100; time += 1) {
        let runs = 0;
        await crashEverywhere<{ sent: number }>({
          prepare: () => Promise.resolve({ sent: 0 }),
          run: async (world, doomed) => {
            runs += 1;
            const port = doomed.wrap({ send: () => Promise.resolve((world.sent += 1)) });
            for (let request = 1; request <= count; request += 1) await port.send();
          },
          recover: () => Promise.resolve(),
          check: ({ sent }) => Promise.resolve(void deaths.add(sent)),
          moments: ['after'],
        });
        assert.equal(runs, isLong ? count + 2 : 6);
      }
      assert.equal(deaths.size, count);
    },
  );

  it('kills the recovery, too, until one completes', async () => {
    let recoveries = 0;
    await crashEverywhere({
      prepare: withSeven,
      run: (numbers, doomed) => move(doomed.wrap(numbers)),
      recover: (numbers: Numbers, doomed: Doomed) => {
        recoveries += 1;
        return move(doomed.wrap(numbers));
      },
      check: checkSum,
      moments: ['before'],
      crashRecovery: true,
    });
    assert.ok(recoveries > 8, `${recoveries} recoveries`);
  });

  it('lets nothing of a dead process run on', async () => {
    const ranOn: boolean[] = [];
    await crashEverywhere({
      prepare: () => Promise.resolve(new Numbers()),
      run: async (numbers, doomed) => {
        const run = ranOn.push(false) - 1;
        await doomed
          .wrap(numbers)
          .get('nothing')
          .finally(() => {
            ranOn[run] = true;
          });
      },
      recover: () => Promise.resolve(),
      check: () => Promise.resolve(),
      moments: ['before', 'after'],
    });
    assert.deepEqual(ranOn, [true, false, true, false, true]);
  });

  it('does not take an error of the pattern itself for a crash', async () => {
    const run = crashEverywhere({
      prepare: withSeven,
      run: (numbers) => numbers.remove('nothing'),
      recover: () => Promise.resolve(),
      check: checkSum,
    });
    await assert.rejects(run, (error: Error) => /nothing is not there/.test(String(error.cause)));
  });
});
