import { emptyKind, type WorkloadKind } from '../kinds.js';
import type { Measurement } from '../report.js';
import { isReference, serverNames, type ServerName } from '../server-process.js';

/**
 * A figure of a server divided by that of another one in the same run, each from its best round.
 */
export const ratioNames = ['cpuOfBare', 'rateOfBare', 'rateOfAzurite'] as const;
export type RatioName = (typeof ratioNames)[number];
export type Ratios = Readonly<Partial<Record<RatioName, number>>>;

interface RatioDefinition {
  readonly title: string;
  readonly to: ServerName;
  readonly figure: (measurement: Measurement) => number | undefined;
  /** Whether more is better. */
  readonly isRate: boolean;
}

function rateOf({ units, seconds }: Measurement): number {
  return units / seconds;
}

export const ratioDefinitions: Readonly<Record<RatioName, RatioDefinition>> = {
  cpuOfBare: {
    title: 'processor time, of bare',
    to: 'bare',
    figure: ({ serverCpuMicros }) => serverCpuMicros,
    isRate: false,
  },
  rateOfBare: { title: 'rate, of bare', to: 'bare', figure: rateOf, isRate: true },
  rateOfAzurite: { title: 'rate, of Azurite', to: 'azurite', figure: rateOf, isRate: true },
};

/**
 * When other work takes a greater share of the machine, ratios are meaningless. Rates fall at once,
 * those of a server that uses the whole machine more than those of one that waits for its disk.
 * Processor time grows later, because caches are lost and fewer requests share the work of a group.
 */
export const othersShareMax = { rate: 0.1, processorTime: 0.5 } as const;

/** Whether a ratio is meaningful when other work took this share of the machine. */
export function isMeaningful(name: RatioName, othersShare: number | undefined): boolean {
  const { rate, processorTime } = othersShareMax;
  const shareMax = ratioDefinitions[name].isRate ? rate : processorTime;
  return othersShare === undefined || othersShare <= shareMax;
}

/** The measurements without ratios that mean nothing on a machine as busy as this one. */
export function meaningfulRatios(measured: readonly KindRatios[]): readonly KindRatios[] {
  return measured.flatMap((one) => {
    const ratios = Object.entries(one.ratios).filter(([name]) =>
      ratioNames.some((each) => each === name && isMeaningful(each, one.othersShare)),
    );
    return ratios.length === 0 ? [] : { ...one, ratios: Object.fromEntries(ratios) };
  });
}

/** The ratios of one server under one kind. */
export interface KindRatios {
  readonly kind: WorkloadKind;
  readonly server: ServerName;
  readonly ratios: Ratios;
  /** The least share of the machine that other work took; absent where the system does not tell. */
  readonly othersShare: number | undefined;
}

/** The ratios that a run with such servers can have, in their order. */
export function ratiosWith(servers: readonly ServerName[]): readonly RatioName[] {
  return ratioNames.filter((name) => servers.includes(ratioDefinitions[name].to));
}

/** The best figure of a server in any round: other work of the machine can only make it worse. */
function bestOf(name: RatioName, own: readonly Measurement[]): number | undefined {
  const { figure, isRate } = ratioDefinitions[name];
  const figures = own.flatMap((one) => figure(one) ?? []).filter((value) => value > 0);
  if (figures.length === 0) return undefined;
  return isRate ? Math.max(...figures) : Math.min(...figures);
}

/** The greatest of the servers' least shares of other work in any round. */
function othersShareOf(groups: readonly (readonly Measurement[])[]): number | undefined {
  const least = groups.flatMap((own) => {
    const shares = own.flatMap(({ othersShare }) => othersShare ?? []);
    return shares.length === 0 ? [] : [Math.min(...shares)];
  });
  return least.length === 0 ? undefined : Math.max(...least);
}

/** Ratios of every server, except those to compare with, in the order of measuring. */
export function ratiosOf(measurements: readonly Measurement[]): readonly KindRatios[] {
  const of = (kind: WorkloadKind, server: ServerName): readonly Measurement[] =>
    measurements.filter((one) => one.kind === kind && one.server === server);
  const measured = new Map(
    measurements.map(({ kind, server }) => [`${kind} ${server}`, { kind, server }]),
  );
  return [...measured.values()]
    .filter(({ server }) => !isReference(server))
    .map(({ kind, server }) => {
      const own = of(kind, server);
      const references = serverNames
        .filter((name) => isReference(name))
        .map((name) => of(emptyKind(kind), name));
      const ratios = ratioNames.flatMap((name) => {
        const to = of(emptyKind(kind), ratioDefinitions[name].to);
        const [above, below] = [bestOf(name, own), bestOf(name, to)];
        return above === undefined || below === undefined ? [] : [[name, above / below] as const];
      });
      return {
        kind,
        server,
        ratios: Object.fromEntries(ratios),
        othersShare: othersShareOf([own, ...references]),
      };
    });
}
