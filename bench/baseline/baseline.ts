import {
  choice,
  list,
  member,
  number,
  object,
  whole,
  type Shape,
} from '../../src/base/shape/shape.js';
import { checkedSetting } from '../../src/base/shape/setting.js';
import { isMeasured } from '../fill.js';
import { workloadKinds, type WorkloadKind } from '../kinds.js';
import { isReference, serverNames, type ServerName } from '../server-process.js';
import { ratiosWith, type RatioName, type Ratios } from './ratios.js';

/** How a run is made, as far as its ratios depend on it. */
export interface RunShape {
  readonly connections: number;
  readonly writers: number;
  readonly rows: number;
  readonly blobs: number;
}

export interface BaselineEntry {
  readonly kind: WorkloadKind;
  readonly server: ServerName;
  readonly ratios: Ratios;
}

/** The stored ratios with which runs of one shape are compared. */
export interface Baseline extends RunShape {
  readonly entries: readonly BaselineEntry[];
}

/** The kinds and servers to measure. */
export interface RunPlan extends RunShape {
  readonly kinds: readonly WorkloadKind[];
  readonly servers: readonly ServerName[];
}

const significantDigits = 4;
const ratio = number(Number.MIN_VALUE, Number.MAX_VALUE);

const ratios: Shape<Ratios> = object<Ratios>({
  cpuOfBare: member(ratio, 'Processor time of a request, of that of bare.'),
  rateOfBare: member(ratio, 'Units a second, of those of bare.'),
  rateOfAzurite: member(ratio, 'Units a second, of those of Azurite.'),
});

const entry: Shape<BaselineEntry> = object<BaselineEntry>(
  {
    kind: member(choice(workloadKinds), 'The kind of load.'),
    server: member(choice(serverNames), 'The server.'),
    ratios: member(ratios, 'What was measured.'),
  },
  { required: ['kind', 'server', 'ratios'] },
);

const shape: Shape<Baseline> = object<Baseline>(
  {
    connections: member(whole(1), 'Connections of the load.'),
    writers: member(whole(1), 'Connections that write beside reads.'),
    rows: member(whole(1), 'Rows of the table before the clock starts.'),
    blobs: member(whole(1), 'Blobs of a container before the clock starts.'),
    entries: member(list(entry), 'One for each kind and server.'),
  },
  { required: ['connections', 'writers', 'rows', 'blobs', 'entries'] },
);

/** Reads the text of a baseline. Throws on one that was not written by this benchmark. */
export function parseBaseline(text: string): Baseline {
  return checkedSetting(shape, JSON.parse(text), 'baseline');
}

export function ratioIn(
  { entries }: Baseline,
  { kind, server }: { readonly kind: WorkloadKind; readonly server: ServerName },
  name: RatioName,
): number | undefined {
  return entries.find((entry) => entry.kind === kind && entry.server === server)?.ratios[name];
}

const shapeNames = ['connections', 'writers', 'rows', 'blobs'] as const;

/** Why a run cannot be compared with a baseline, in words; nothing when it can be. */
export function shapeDifferences(baseline: RunShape, run: RunShape): readonly string[] {
  return shapeNames.flatMap((name) =>
    baseline[name] === run[name]
      ? []
      : [`it was measured with --${name} ${baseline[name]}, this run has ${run[name]}`],
  );
}

/** A text that names the kinds and servers of a run that the baseline does not have. */
export function lacking(baseline: Baseline, plan: RunPlan): readonly string[] {
  const expected = ratiosWith(plan.servers);
  return plan.kinds.flatMap((kind) =>
    plan.servers
      .filter((server) => !isReference(server) && isMeasured(server, kind))
      .flatMap((server) => {
        const known = expected.filter((name) => ratioIn(baseline, { kind, server }, name));
        return known.length > 0 ? [] : [`it has no ${kind} of ${server}`];
      }),
  );
}

function rounded(ratios: Ratios): Ratios {
  const digits = (value: number): number => Number(value.toPrecision(significantDigits));
  return Object.fromEntries(
    Object.entries(ratios).map(([name, value]) => [name, digits(value)] as const),
  );
}

/**
 * The baseline updated with the measurements of a run. Ratios that the run did not measure stay: a
 * run without Azurite keeps those of Azurite.
 */
export function withEntries(
  baseline: Baseline | undefined,
  run: RunShape,
  measured: readonly BaselineEntry[],
): Baseline {
  const merged = new Map<string, BaselineEntry>();
  for (const { kind, server, ratios } of [...(baseline?.entries ?? []), ...measured]) {
    const key = `${kind} ${server}`;
    const before = merged.get(key)?.ratios;
    merged.set(key, { kind, server, ratios: { ...before, ...rounded(ratios) } });
  }
  const place = ({ kind, server }: BaselineEntry): number =>
    workloadKinds.indexOf(kind) * serverNames.length + serverNames.indexOf(server);
  const entries = [...merged.values()].toSorted((left, right) => place(left) - place(right));
  const { connections, writers, rows, blobs } = run;
  return { connections, writers, rows, blobs, entries };
}
