import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { WorkloadKind } from '../kinds.js';
import type { Measurement } from '../report.js';
import type { ServerName } from '../server-process.js';
import { lacking, parseBaseline, shapeDifferences, withEntries } from './baseline.js';
import { changesSince, changesTable, classify, conclusion, outcomeOf } from './comparison.js';
import { ratiosOf, meaningfulRatios, type KindRatios } from './ratios.js';

const run = { connections: 32, writers: 32, rows: 20_000, blobs: 20_000 };

function measurement(
  kind: WorkloadKind,
  server: ServerName,
  round: number,
  figures: { readonly rate: number; readonly cpu?: number; readonly others?: number },
): Measurement {
  return {
    kind,
    server,
    round,
    requests: figures.rate * 2,
    answered: figures.rate * 2,
    requestsBeside: 0,
    units: figures.rate * 2,
    seconds: 2,
    p50Ms: 1,
    p99Ms: 2,
    loadCpuShare: 0.5,
    serverCpuMicros: figures.cpu,
    anonymousMb: 100,
    othersShare: figures.others,
  };
}

function kindRatios(given: Partial<KindRatios> = {}): KindRatios {
  return {
    kind: 'point',
    server: 'tabularium',
    ratios: { cpuOfBare: 2, rateOfBare: 0.5, rateOfAzurite: 10 },
    othersShare: 0,
    ...given,
  };
}

const baseline = withEntries(undefined, run, [kindRatios()]);

function classes(now: KindRatios): readonly string[] {
  return changesSince(baseline, [now]).map((change) => `${change.name} ${classify(change)}`);
}

describe('the ratios of a run', () => {
  it('sets the best round of a server beside the best of another', () => {
    const ratios = ratiosOf([
      measurement('point', 'bare', 0, { rate: 100, cpu: 12, others: 0.3 }),
      measurement('point', 'tabularium', 0, { rate: 50, cpu: 20, others: 0.1 }),
      measurement('point', 'tabularium', 1, { rate: 5, cpu: 66, others: 0.5 }),
      measurement('point', 'bare', 1, { rate: 90, cpu: 10, others: 0.2 }),
      measurement('point', 'azurite', 0, { rate: 5, cpu: 900, others: 0.4 }),
      measurement('point', 'azurite', 1, { rate: 2, cpu: 900, others: 0.05 }),
      measurement('insert', 'tabularium', 0, { rate: 70 }),
      measurement('insert', 'bare', 0, { rate: 100 }),
      measurement('scan', 'tabularium', 0, { rate: 0, cpu: 5 }),
      measurement('scan', 'bare', 0, { rate: 100, cpu: 5 }),
    ]);
    assert.deepEqual(ratios, [
      {
        kind: 'point',
        server: 'tabularium',
        ratios: { cpuOfBare: 2, rateOfBare: 0.5, rateOfAzurite: 10 },
        othersShare: 0.2,
      },
      { kind: 'insert', server: 'tabularium', ratios: { rateOfBare: 0.7 }, othersShare: undefined },
      { kind: 'scan', server: 'tabularium', ratios: { cpuOfBare: 1 }, othersShare: undefined },
    ]);
  });

  it('compares a queue with a backlog to one without', () => {
    const [ratios] = ratiosOf([
      measurement('queue-put', 'bare', 0, { rate: 100 }),
      measurement('queue-put-1m', 'tabularium', 0, { rate: 25 }),
    ]);
    assert.deepEqual(ratios?.ratios, { rateOfBare: 0.25 });
  });
});

describe('the comparison with a baseline', () => {
  it('finds more time a request by more than a fifth worse, whichever way a ratio counts', () => {
    const at = (cpuOfBare: number, rateOfBare: number): readonly string[] =>
      classes(kindRatios({ ratios: { cpuOfBare, rateOfBare } }));
    assert.deepEqual(at(2.39, 0.42), ['cpuOfBare same', 'rateOfBare same']);
    assert.deepEqual(at(2.41, 0.41), ['cpuOfBare worse', 'rateOfBare worse']);
    assert.deepEqual(at(1.68, 0.59), ['cpuOfBare same', 'rateOfBare same']);
    assert.deepEqual(at(1.66, 0.61), ['cpuOfBare better', 'rateOfBare better']);
  });

  it('compares rates on a calm machine alone, and processor time on one that is half busy', () => {
    const ratios = { cpuOfBare: 3, rateOfBare: 0.1 };
    const at = (othersShare: number | undefined): readonly string[] =>
      classes(kindRatios({ ratios, othersShare }));
    for (const calm of [undefined, 0.1]) {
      assert.deepEqual(at(calm), ['cpuOfBare worse', 'rateOfBare worse']);
    }
    for (const busy of [0.11, 0.5]) {
      assert.deepEqual(at(busy), ['cpuOfBare worse', 'rateOfBare not comparable']);
    }
    assert.deepEqual(at(0.51), ['cpuOfBare not comparable', 'rateOfBare not comparable']);
  });

  it('is good when something of every kind and server is comparable and nothing is worse', () => {
    const of = (...now: readonly KindRatios[]): string => outcomeOf(changesSince(baseline, now));
    assert.equal(of(kindRatios({ othersShare: 0.3 })), 'good');
    assert.equal(of(kindRatios({ othersShare: 0.9 })), 'unknown');
    const worse = kindRatios({ ratios: { cpuOfBare: 3 } });
    assert.equal(of(worse), 'worse');
    assert.equal(of(kindRatios({ othersShare: 0.9 }), worse), 'worse');
  });

  it('leaves out what this run did not measure', () => {
    const now = kindRatios({ ratios: { cpuOfBare: 2 } });
    assert.deepEqual(classes(now), ['cpuOfBare same']);
    assert.deepEqual(classes(kindRatios({ kind: 'scan' })), []);
  });

  it('tells what has changed and what to do about it', () => {
    const ratios = { cpuOfBare: 3, rateOfBare: 1, rateOfAzurite: 10 };
    const changes = changesSince(baseline, [kindRatios({ ratios })]);
    const table = changesTable(changes).split('\n');
    const columns = 'processor time, of bare | 2 | 3 | +50.0 % | worse |';
    assert.equal(table[2], `| point read | tabularium | ${columns}`);
    assert.equal(table.length, 5);
    const text = conclusion(changes);
    assert.match(text, /point of tabularium: processor time, of bare: 2 before, 3 now, \+50.0 %/);
    assert.match(text, /Measure them again with --kinds point --rounds 5/);
    assert.match(text, /--write-baseline keeps what was gained:\n {2}point of tabularium: rate/);
    assert.equal(conclusion([]), 'No comparable ratio is worse by more than 20 %.\n');
    const open = conclusion(changesSince(baseline, [kindRatios({ othersShare: 0.3 })]));
    assert.match(open, /2 of 3 ratios are not comparable/);
  });
});

describe('a baseline', () => {
  it('tells what it lacks before anything is measured', () => {
    const plan = { ...run, kinds: ['point', 'scan'], servers: ['bare', 'azurite'] } as const;
    const lacks = (servers: readonly ServerName[]): readonly string[] =>
      lacking(baseline, { ...plan, servers });
    assert.deepEqual(lacks(['bare', 'azurite', 'tabularium']), ['it has no scan of tabularium']);
    assert.deepEqual(lacks(['bare', 'tabularium-no-journal']), [
      'it has no point of tabularium-no-journal',
      'it has no scan of tabularium-no-journal',
    ]);
    const azurite = withEntries(undefined, run, [kindRatios({ ratios: { rateOfAzurite: 9 } })]);
    const point = { ...plan, kinds: ['point'], servers: ['bare', 'tabularium'] } as const;
    assert.deepEqual(lacking(azurite, point), ['it has no point of tabularium']);
    assert.deepEqual(lacking(azurite, { ...point, servers: ['azurite', 'tabularium'] }), []);
  });

  it('gets no ratios of a machine that was too busy for them', () => {
    const busy = kindRatios({ othersShare: 0.3 });
    const of = (measured: readonly KindRatios[]) =>
      meaningfulRatios(measured).map(({ ratios }) => ratios);
    assert.deepEqual(of([busy, kindRatios({ othersShare: 0.9 })]), [{ cpuOfBare: 2 }]);
    assert.deepEqual(of([kindRatios()]), [kindRatios().ratios]);
  });

  it('is for runs of one shape', () => {
    assert.deepEqual(shapeDifferences(baseline, run), []);
    assert.deepEqual(shapeDifferences(baseline, { ...run, rows: 1_000_000 }), [
      'it was measured with --rows 20000, this run has 1000000',
    ]);
  });

  it('takes in what a run measured and keeps the rest, in the order of kinds', () => {
    const more = withEntries(baseline, run, [
      kindRatios({ kind: 'batch', ratios: { cpuOfBare: 12.34567 } }),
      kindRatios({ ratios: { cpuOfBare: 2.5 } }),
      kindRatios({ server: 'tabularium-no-journal', ratios: { rateOfBare: 0.4 } }),
    ]);
    assert.deepEqual(more.entries, [
      {
        kind: 'point',
        server: 'tabularium',
        ratios: { cpuOfBare: 2.5, rateOfBare: 0.5, rateOfAzurite: 10 },
      },
      { kind: 'point', server: 'tabularium-no-journal', ratios: { rateOfBare: 0.4 } },
      { kind: 'batch', server: 'tabularium', ratios: { cpuOfBare: 12.35 } },
    ]);
    assert.deepEqual(parseBaseline(JSON.stringify(more)), more);
  });

  it('is refused with what is wrong in it', () => {
    const broken = { ...baseline, entries: [{ ...kindRatios(), kind: 'points' }] };
    assert.throws(() => parseBaseline(JSON.stringify(broken)), /baseline\.entries\[0\]/);
    assert.throws(() => parseBaseline('{}'), /connections/);
  });
});
