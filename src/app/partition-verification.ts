import type { VerifyChoice, VerifyResult } from '../http/control/partitions.js';
import type { Finding } from '../partition/findings.js';
import { KeyRateLimiter } from '../partition/key-rate-limiter.js';
import { repair } from '../partition/operations/repair.js';
import type { RangeRow } from '../partition/rows.js';
import { answeringReads } from '../partition/reach.js';
import { Verification } from '../partition/verification.js';
import { verify } from '../partition/verify.js';
import type { OpenPartitions } from './open-partitions.js';
import type { ContainerNames } from './partitions/container-names.js';
import type { JobProgress } from './partitions/jobs.js';
import { unnamedContainers } from './partitions/references.js';
import { findingText, leftText } from './partitions/texts.js';

/** The number of keys that a verification reads in a second by default. */
const keysPerSecondStandard = 100_000;

export interface VerifyTools {
  readonly open: OpenPartitions;
  readonly names: ContainerNames;
  /** This process. */
  readonly owner: string;
}

/**
 * Compares the map with the stores, and tables and queues with what has entries. Goes on where the
 * last comparison of all ranges was when its process died.
 */
export async function verified(
  tools: VerifyTools,
  choice: VerifyChoice,
  progress: JobProgress,
): Promise<VerifyResult> {
  const { open, names, owner } = tools;
  const { catalogue, members, settings, operationRunner, isAlone } = open;
  const { range, repair: repairs = false, anew = false } = choice;
  const { clock, timers } = settings;
  const keysPerSecond = choice.keysPerSecond ?? keysPerSecondStandard;
  const limiter = new KeyRateLimiter(keysPerSecond, { clock, timers });
  const noted =
    range === undefined
      ? await Verification.begin({ catalogue, clock, owner, isAlone }, { anew })
      : undefined;
  const before = noted?.before;
  if (before !== undefined) progress.add(before.keys);
  const onKeys = async (keys: number): Promise<void> => {
    progress.add(keys);
    await noted?.noteKeys(keys);
    await limiter.take(keys);
  };
  const { ranges } = await catalogue.map();
  const found = await verify({
    catalogue,
    members,
    clock,
    timers,
    onKeys,
    lastVersionOf: (store) => open.lastVersionOf(store),
    ...(range !== undefined && { range }),
    ...(before?.until !== undefined && { after: before.until, found: before.findings }),
    ...(noted !== undefined && {
      onCompared: (until, findings) => noted.noteCompared(until, findings),
    }),
  });
  const namesOf = (service: string, account: string) => names.namesOf(service, account);
  const store = answeringReads(open, timers);
  const unnamed = range === undefined ? await unnamedContainers(store, { namesOf, onKeys }) : [];
  await noted?.end();
  const faults = found.filter(({ kind }) => kind !== 'not compared');
  const told = repairs
    ? await repaired(faults, ranges, { members, operationRunner, timers })
    : { findings: faults.map((finding) => findingText(finding, ranges)), repaired: [] };
  // Once for each range, of however many stores.
  const notCompared = new Set(
    found.flatMap((finding) =>
      finding.kind === 'not compared' ? [findingText(finding, ranges)] : [],
    ),
  );
  return {
    findings: [
      ...told.findings,
      ...unnamed.map(({ place, what }) => `There are ${what} at ${place}, which is not there.`),
    ],
    repaired: told.repaired,
    ...(notCompared.size > 0 && { notCompared: [...notCompared] }),
    ...(before !== undefined && { begun: new Date(before.begunMicros / 1_000).toISOString() }),
  };
}

async function repaired(
  found: readonly Finding[],
  ranges: readonly RangeRow[],
  tools: Parameters<typeof repair>[0],
): Promise<Pick<VerifyResult, 'findings' | 'repaired'>> {
  const ends = await repair(tools, found);
  const textOf = (finding: Finding) => findingText(finding, ranges);
  return {
    findings: ends.flatMap((end) =>
      end.kind === 'left' ? [`${textOf(end.finding)} ${leftText(end)}`] : [],
    ),
    repaired: ends.flatMap((end) => (end.kind === 'repaired' ? [textOf(end.finding)] : [])),
  };
}
