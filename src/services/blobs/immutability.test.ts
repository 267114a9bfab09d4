import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  account,
  assertTidy,
  at,
  blobWorld,
  body,
  collected,
  container,
  openBlobs,
  readAll,
  sample,
  settle,
} from '../../../test/support/blob-world.js';
import { costly } from '../../../test/support/run-length.js';
import { openTestStore } from '../../../test/support/stores.js';
import { manualClock } from '../../base/clock.js';
import type { Store } from '../../kv/store.js';
import { formatTimestamp } from '../../model/edm/date-time.js';
import type { Immutability } from '../../model/blobs/immutability.js';
import type { ErrorCode } from '../../model/errors/registry.js';
import type { BlobService } from './blob-service.js';
import { pageRangesPerCommitMax } from './limits.js';
import type { BlobAddress, BlobStateSelector, NewProperties, SnapshotAddress } from './types.js';

const microsPerSecond = 1_000_000;
const hour = 3_600 * microsPerSecond;
const plain: NewProperties = { headers: {}, metadata: [], tags: [] };
const address = at('b');
const other = at('other');
const pages = 2_048;

async function setUp(
  t: TestContext,
  options: {
    readonly versions?: boolean;
    readonly days?: number;
    readonly commits?: (store: Store) => Store;
  } = {},
) {
  const clock = manualClock();
  const isOn = { versions: options.versions ?? true, immutability: true };
  const { days } = options;
  const world = await openBlobs(await openTestStore('memory', t, clock), clock, {
    versioning: () => isOn.versions,
    immutability: () => isOn.immutability,
    retention: () =>
      Promise.resolve({ enabled: days !== undefined, allowPermanentDelete: true, days: days ?? 1 }),
    ...(options.commits !== undefined && { commits: options.commits }),
  });
  const until = (hours: number) => Math.ceil(clock.nowMicros() / microsPerSecond) + hours * 3_600;
  return { ...world, isOn, until };
}

type World = Awaited<ReturnType<typeof setUp>>;

// Every state of protection with every operation, against an oracle of the rules.

const states = {
  none: {},
  unlocked: { mode: 'unlocked', hasEnded: false },
  locked: { mode: 'locked', hasEnded: false },
  'ended and unlocked': { mode: 'unlocked', hasEnded: true },
  'ended and locked': { mode: 'locked', hasEnded: true },
  held: { hold: true },
  'held and locked': { mode: 'locked', hasEnded: false, hold: true },
  'held and ended': { mode: 'unlocked', hasEnded: true, hold: true },
} as const satisfies Readonly<Record<string, State>>;

interface State {
  readonly mode?: 'unlocked' | 'locked';
  readonly hasEnded?: boolean;
  readonly hold?: boolean;
}

type Effect = 'none' | 'replaces' | 'changes' | 'deletes' | 'weakens' | 'takes the policy away';

/** The rules of blob-service §15.5, and nothing of how they are kept. */
function refusalOf(state: State, effect: Effect, isKeptAsVersion: boolean): ErrorCode | undefined {
  const isLocked = state.mode === 'locked';
  switch (effect) {
    case 'none':
      return undefined;
    case 'weakens':
      return isLocked ? 'BlobImmutableDueToPolicy' : undefined;
    case 'takes the policy away':
      return isLocked ? 'ImmutabilityPolicyDeleteOnLockedPolicy' : undefined;
    case 'replaces':
      if (isKeptAsVersion) return undefined;
      break;
    case 'deletes':
      if (state.hold !== true && state.hasEnded === true) return undefined;
      break;
    default:
  }
  if (state.hold === true) return 'BlobImmutableDueToLegalHold';
  return state.mode === undefined ? undefined : 'BlobImmutableDueToPolicy';
}

type Kind = 'block' | 'append' | 'page';
type Act = (world: World, target: SnapshotAddress) => Promise<unknown>;

const onBlob: readonly (readonly [Kind, string, Effect, Act])[] = [
  ['block', 'Put Blob', 'replaces', ({ blobs }) => putText(blobs, address, 'new')],
  [
    'block',
    'Put Blob of another kind',
    'replaces',
    ({ blobs }) => blobs.putAppendBlob(address, plain),
  ],
  ['block', 'Put Block', 'none', ({ blobs }) => putBlock(blobs)],
  [
    'block',
    'Put Block List',
    'replaces',
    async ({ blobs }) => {
      await putBlock(blobs);
      const blocks = [{ source: 'latest', id: Buffer.from('1') }] as const;
      return blobs.putBlockList(address, { ...plain, blocks });
    },
  ],
  ['block', 'Copy Blob', 'replaces', ({ blobs }) => copy(blobs, other, address)],
  [
    'block',
    'Set Blob Metadata',
    'changes',
    ({ blobs }) => blobs.setMetadata(address, [['k', 'v']]),
  ],
  ['block', 'Set Blob Properties', 'none', ({ blobs }) => blobs.setHeaders(address, {})],
  ['block', 'Set Blob Tags', 'none', ({ blobs }) => blobs.setTags(address, [['k', 'v']])],
  ['block', 'Set Blob Tier', 'none', ({ blobs }) => blobs.setTier(address, 'Cool')],
  ['block', 'Snapshot Blob', 'none', ({ blobs }) => blobs.snapshotBlob(address)],
  ['block', 'Copy from it', 'none', ({ blobs }) => copy(blobs, address, at('copied'))],
  [
    'block',
    'Lease Blob',
    'none',
    ({ blobs }) => blobs.leaseBlob(address, { kind: 'acquire', duration: 'infinite' }),
  ],
  ['append', 'Append Block', 'changes', ({ blobs }) => append(blobs)],
  ['append', 'Append Blob Seal', 'none', ({ blobs }) => blobs.sealAppendBlob(address)],
  ['append', 'Put Blob', 'replaces', ({ blobs }) => blobs.putAppendBlob(address, plain)],
  ['page', 'Put Page', 'changes', ({ blobs }) => putPage(blobs)],
  [
    'page',
    'Clear Pages',
    'changes',
    ({ blobs }) => blobs.clearPages(address, { start: 0, end: 512 }),
  ],
  ['page', 'a new size', 'changes', ({ blobs }) => blobs.changePageBlob(address, { bytes: 512 })],
  [
    'page',
    'a new sequence number',
    'none',
    ({ blobs }) => blobs.changePageBlob(address, { sequence: { kind: 'increment' } }),
  ],
  [
    'page',
    'Put Blob',
    'replaces',
    ({ blobs }) => blobs.putPageBlob(address, { ...plain, bytes: 512, sequenceNumber: 0n }),
  ],
];

const onAnything: readonly (readonly [string, Effect, Act])[] = [
  ['Delete Blob', 'deletes', ({ blobs }, target) => blobs.deleteBlob(target)],
  [
    'a longer locked policy',
    'none',
    ({ blobs, until }, target) =>
      blobs.setImmutabilityPolicy(target, { untilSeconds: until(9), mode: 'locked' }),
  ],
  [
    'a longer unlocked policy',
    'weakens',
    ({ blobs, until }, target) =>
      blobs.setImmutabilityPolicy(target, { untilSeconds: until(9), mode: 'unlocked' }),
  ],
  [
    'no policy',
    'takes the policy away',
    ({ blobs }, target) => blobs.deleteImmutabilityPolicy(target),
  ],
  ['a legal hold', 'none', ({ blobs }, target) => blobs.setLegalHold(target, true)],
  ['no legal hold', 'none', ({ blobs }, target) => blobs.setLegalHold(target, false)],
];

function putText(
  blobs: BlobService,
  to: BlobAddress,
  text: string,
  more: Partial<NewProperties> = {},
) {
  return blobs.putBlockBlob(to, { ...plain, ...more }, { body: body(text) });
}

const putBlock = (blobs: BlobService) =>
  blobs.putBlock(address, { id: Buffer.from('1') }, { body: body('block') });
const append = (blobs: BlobService) => blobs.appendBlock(address, { body: body('more') });
const putPage = (blobs: BlobService) =>
  blobs.putPages(address, { start: 0, end: 512 }, { body: body(sample(512)) });
const copy = (blobs: BlobService, source: SnapshotAddress, to: BlobAddress) =>
  blobs.copyBlob(to, { source, sourceUrl: 'http://h/x', tags: [] });

async function make({ blobs }: World, kind: Kind): Promise<void> {
  await putText(blobs, other, 'other');
  if (kind === 'append') {
    await blobs.putAppendBlob(address, plain);
    await append(blobs);
  } else if (kind === 'page') {
    await blobs.putPageBlob(address, { ...plain, bytes: pages, sequenceNumber: 0n });
    await putPage(blobs);
  } else await putText(blobs, address, 'kept');
}

/** Gives something of the blob the state; time passes for one that has ended. */
async function keep(world: World, target: SnapshotAddress, state: State): Promise<void> {
  const { blobs, clock, until } = world;
  const { mode, hasEnded, hold } = state;
  if (mode !== undefined) {
    const untilSeconds = until(hasEnded === true ? 1 : 3);
    await blobs.setImmutabilityPolicy(target, { untilSeconds, mode });
  }
  if (hasEnded === true) clock.advanceMicros(2 * hour);
  if (hold === true) await blobs.setLegalHold(target, true);
}

/** Everything that clients can see of all blobs, but for blocks. */
async function seen({ blobs }: World): Promise<unknown> {
  const query = { snapshots: true, versions: true, uncommitted: false, deleted: true, limit: 99 };
  const { items } = await blobs.listBlobs({ account, container }, query);
  const shown: unknown[] = [];
  for (const item of items) {
    assert.ok(item.kind === 'blob');
    const { name, snapshotMicros, version } = item;
    const past: BlobStateSelector =
      snapshotMicros !== undefined
        ? { snapshotMicros }
        : version !== undefined && !version.isCurrent
          ? { versionMicros: version.micros }
          : {};
    const content = (await readAll(blobs, { ...at(name), ...past })).toString('base64');
    shown.push({ ...item, content });
  }
  return shown;
}

async function codeOf(work: Promise<unknown>): Promise<ErrorCode | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    assert.ok(error instanceof Error && 'code' in error);
    return error.code as ErrorCode;
  }
}

describe('the protection of a blob', () => {
  for (const [name, state] of Object.entries<State>(states)) {
    for (const versions of [true, false]) {
      it(`allows what its rules allow of a blob: ${name}, versions ${String(versions)}`, async (t) => {
        const anything = onAnything.map(([what, ...rest]) => ['block', what, ...rest] as const);
        for (const [kind, what, effect, act] of [...onBlob, ...anything]) {
          const world = await setUp(t, { versions });
          await make(world, kind);
          await keep(world, address, state);
          const { immutability } = await world.blobs.getProperties(address);
          const before = await seen(world);
          const refusal = refusalOf(state, effect, versions);
          assert.equal(await codeOf(act(world, address)), refusal, `${what} of a ${kind} blob`);
          if (refusal !== undefined) assert.deepEqual(await seen(world), before, what);
          if (effect === 'replaces' && refusal === undefined) {
            const now = (await world.blobs.getProperties(address)).immutability;
            assert.equal(now, undefined, `${what} keeps what it makes from nothing`);
            assert.deepEqual(
              await keptOfPast(world),
              immutability === undefined ? [] : [immutability],
            );
          }
          await settle(world);
          await assertTidy(world);
        }
      });
    }

    it(`allows what its rules allow of a snapshot and a version: ${name}`, async (t) => {
      for (const isSnapshot of [true, false]) {
        for (const [what, effect, act] of onAnything) {
          const world = await setUp(t);
          const { blobs } = world;
          const { versionMicros = -1 } = await putText(blobs, address, 'kept');
          const { snapshotMicros } = await blobs.snapshotBlob(address);
          await putText(blobs, address, 'new');
          const target = { ...address, ...(isSnapshot ? { snapshotMicros } : { versionMicros }) };
          await keep(world, target, state);
          const before = await seen(world);
          const refusal = refusalOf(state, effect, false);
          assert.equal(await codeOf(act(world, target)), refusal, what);
          if (refusal !== undefined) assert.deepEqual(await seen(world), before, what);
          const { immutability } = await blobs.getProperties(address);
          assert.equal(immutability, undefined, 'the blob itself is kept by nothing');
        }
      }
    });
  }

  async function keptOfPast({ blobs }: World): Promise<Immutability[]> {
    const query = {
      snapshots: false,
      versions: true,
      uncommitted: false,
      deleted: false,
      limit: 9,
    };
    const { items } = await blobs.listBlobs({ account, container }, query);
    return Array.from(items).flatMap((item) =>
      item.kind === 'blob' && item.properties?.immutability !== undefined
        ? [item.properties.immutability]
        : [],
    );
  }

  it('keeps a blob in which a snapshot is kept that would go along', async (t) => {
    const world = await setUp(t);
    const { blobs } = world;
    await putText(blobs, address, 'kept');
    const { snapshotMicros } = await blobs.snapshotBlob(address);
    const snapshot = { ...address, snapshotMicros };
    await blobs.setLegalHold(snapshot, true);
    const before = await seen(world);
    for (const snapshots of ['include', 'only'] as const) {
      const code = 'BlobImmutableDueToLegalHold';
      await assert.rejects(blobs.deleteBlob(address, { snapshots }), { code });
    }
    assert.deepEqual(await seen(world), before);
    await blobs.setLegalHold(snapshot, false);
    await blobs.deleteBlob(address, { snapshots: 'include' });
  });

  it('stays with a blob and its version when a snapshot is made, which is kept by nothing', async (t) => {
    const { blobs } = await setUp(t);
    const { versionMicros = -1 } = await putText(blobs, address, 'kept');
    await blobs.setLegalHold(address, true);
    const { snapshotMicros } = await blobs.snapshotBlob(address);
    const keptOf = async (selector: BlobStateSelector) =>
      (await blobs.getProperties({ ...address, ...selector })).immutability;
    assert.deepEqual(await keptOf({}), { hasLegalHold: true });
    assert.deepEqual(await keptOf({ versionMicros }), { hasLegalHold: true });
    assert.equal(await keptOf({ snapshotMicros }), undefined);
  });

  it('is given to snapshots of incremental copies, not to what the next copy changes', async (t) => {
    const { blobs } = await setUp(t, { versions: false });
    await blobs.putPageBlob(address, { ...plain, bytes: 512, sequenceNumber: 0n });
    const { snapshotMicros } = await blobs.snapshotBlob(address);
    const time = encodeURIComponent(formatTimestamp(snapshotMicros));
    const request = {
      source: { ...address, snapshotMicros },
      sourceUrl: `http://h/acct/cont/b?snapshot=${time}`,
    };
    await blobs.copyIncrementally(other, request);
    const code = 'OperationNotAllowedOnIncrementalCopyBlob';
    await assert.rejects(blobs.setLegalHold(other, true), { code });
    const { copy: made } = await blobs.getProperties(other);
    const taken = { ...other, snapshotMicros: made?.incremental?.snapshotMicros ?? -1 };
    await blobs.setLegalHold(taken, true);
    await blobs.copyIncrementally(other, request);
    await assert.rejects(blobs.deleteBlob(taken), { code: 'BlobImmutableDueToLegalHold' });
  });

  it('changes neither the ETag nor needs the lease, and obeys conditions', async (t) => {
    const { blobs, until } = await setUp(t);
    const { modifiedMicros } = await putText(blobs, address, 'kept');
    await blobs.leaseBlob(address, { kind: 'acquire', duration: 'infinite' });
    const policy = { untilSeconds: until(1), mode: 'unlocked' } as const;
    const unmet = { ifUnmodifiedSinceSeconds: modifiedMicros / microsPerSecond - 9 };
    const code = 'ConditionNotMet';
    await assert.rejects(blobs.setImmutabilityPolicy(address, policy, unmet), { code });
    await assert.rejects(blobs.setLegalHold(address, true, unmet), { code });
    await blobs.setImmutabilityPolicy(address, policy);
    await assert.rejects(blobs.deleteImmutabilityPolicy(address, unmet), { code });
    await blobs.setLegalHold(address, true);
    const shown = await blobs.getProperties(address);
    assert.equal(shown.modifiedMicros, modifiedMicros);
    assert.equal(shown.lease?.state, 'leased');
    assert.deepEqual(shown.immutability, { policy, hasLegalHold: true });
    const none = { code: 'BlobNotFound' };
    await assert.rejects(blobs.setLegalHold(at('none'), true), none);
    await assert.rejects(blobs.setLegalHold({ ...address, versionMicros: 7 }, true), none);
  });

  it('comes with every write that makes a blob', async (t) => {
    const { blobs, until } = await setUp(t);
    const immutability: Immutability = {
      policy: { untilSeconds: until(1), mode: 'locked' },
      hasLegalHold: true,
    };
    const kept = { ...plain, immutability };
    const source = at('source');
    await putText(blobs, source, 'source');
    const request = { source, sourceUrl: 'http://h/x', tags: [], immutability };
    const writes: Readonly<Record<string, (to: BlobAddress) => Promise<unknown>>> = {
      block: (to) => putText(blobs, to, 'x', { immutability }),
      list: (to) => blobs.putBlockList(to, { ...kept, blocks: [] }),
      append: (to) => blobs.putAppendBlob(to, kept),
      page: (to) => blobs.putPageBlob(to, { ...kept, bytes: 512, sequenceNumber: 0n }),
      copy: (to) => blobs.copyBlob(to, request),
    };
    for (const [name, write] of Object.entries(writes)) {
      await write(at(name));
      assert.deepEqual((await blobs.getProperties(at(name))).immutability, immutability, name);
      const code = 'BlobImmutableDueToLegalHold';
      await assert.rejects(blobs.deleteBlob(at(name)), { code });
    }
    await copy(blobs, at('block'), at('plain'));
    const copied = (await blobs.getProperties(at('plain'))).immutability;
    assert.equal(copied, undefined, 'a copy of a kept blob is kept by nothing');
  });

  it('outlives the retention of what was deleted, and lets go in the end', async (t) => {
    const world = await setUp(t, { days: 1 });
    const { blobs, clock, until } = world;
    const policy = { untilSeconds: until(72), mode: 'locked' } as const;
    const immutability = { policy, hasLegalHold: false };
    const { versionMicros = -1 } = await putText(blobs, address, 'kept', { immutability });
    await putText(blobs, address, 'new');
    await blobs.deleteBlob(address);
    const version = { ...address, versionMicros };
    clock.advanceMicros(48 * hour);
    await settle(world);
    assert.equal((await collected((await blobs.getBlob(version)).body)).toString(), 'kept');
    await assert.rejects(blobs.deleteBlob(version), { code: 'BlobImmutableDueToPolicy' });
    clock.advanceMicros(25 * hour);
    assert.deepEqual(await blobs.deleteBlob(version), { isPermanent: false });
    await blobs.undeleteBlob(address);
    assert.deepEqual((await blobs.getProperties(version)).immutability, immutability);
    await blobs.deleteBlob(version);
    await blobs.deleteBlob(version, { permanently: true });
    await assert.rejects(blobs.getProperties(version), { code: 'BlobNotFound' });
    await settle(world);
    await assertTidy(world);
  });

  it('holds when the account has no immutable storage any more', async (t) => {
    const { blobs, isOn } = await setUp(t, { versions: false });
    await putText(blobs, address, 'kept');
    await blobs.setLegalHold(address, true);
    isOn.immutability = false;
    const code = 'BlobImmutableDueToLegalHold';
    await assert.rejects(blobs.deleteBlob(address), { code });
    await assert.rejects(putText(blobs, address, 'new'), { code });
    await assert.rejects(blobs.containers.delete({ account, container }, {}), {
      code: 'ContainerImmutableStorageWithVersioningEnabled',
    });
    await blobs.setLegalHold(address, false);
    await blobs.deleteBlob(address);
    await blobs.containers.delete({ account, container }, {});
  });

  it('is refused where there is no immutable storage, and nothing is stored', async (t) => {
    const { blobs, isOn, until } = await setUp(t);
    isOn.immutability = false;
    await putText(blobs, address, 'old');
    const policy = { untilSeconds: until(1), mode: 'unlocked' } as const;
    const immutability = { policy, hasLegalHold: false };
    const refused = { code: 'NotImplemented', message: /--blob-immutability/ };
    await assert.rejects(putText(blobs, address, 'new', { immutability }), refused);
    await assert.rejects(blobs.setImmutabilityPolicy(address, policy), refused);
    await assert.rejects(blobs.deleteImmutabilityPolicy(address), refused);
    await assert.rejects(blobs.setLegalHold(address, false), refused);
    assert.equal((await readAll(blobs, address)).toString(), 'old');
    await blobs.containers.delete({ account, container }, {});
    const code = 'ContainerNotFound';
    await assert.rejects(blobs.setLegalHold(address, true), { code });
  });

  it('stops a clearing of many pages that is under way', costly(), async (t) => {
    const clearing = { steps: 0, between: async () => {} };
    const commits = (inner: Store): Store => ({
      ...inner,
      get: (key) => inner.get(key),
      range: (range, options) => inner.range(range, options),
      close: () => inner.close(),
      async commit(batch) {
        const committed = await inner.commit(batch);
        if (clearing.steps > 0) {
          clearing.steps = 0;
          await clearing.between();
        }
        return committed;
      },
    });
    const { blobs, beside } = await setUp(t, { commits });
    const count = pageRangesPerCommitMax + 10;
    await blobs.putPageBlob(address, { ...plain, bytes: count * 512, sequenceNumber: 0n });
    for (let at = 0; at < count; at += 1) {
      const start = at * 512;
      await blobs.putPages(address, { start, end: start + 512 }, { body: body(sample(512, at)) });
    }
    clearing.between = async () => {
      await beside.setLegalHold(address, true);
    };
    clearing.steps = 1;
    const all = { start: 0, end: count * 512 };
    const code = 'BlobImmutableDueToLegalHold';
    await assert.rejects(blobs.clearPages(address, all), { code });
    const last = (count - 1) * 512;
    const range = { first: last, last: last + 511 };
    const left = await collected((await blobs.getBlob(address, { range })).body);
    assert.ok(left.equals(sample(512, count - 1)), 'the last pages are there');
  });
});

describe('a container with immutable storage', () => {
  const not = { code: 'ContainerImmutableStorageWithVersioningEnabled' };
  const address2 = { account, container };

  it('is deleted only when nothing can be found in it', async (t) => {
    const { blobs, isOn } = await setUp(t);
    assert.equal((await blobs.containers.get(address2, {})).hasImmutableStorage, true);
    const { versionMicros = -1 } = await putText(blobs, address, 'kept');
    const { snapshotMicros } = await blobs.snapshotBlob(address);
    await assert.rejects(blobs.containers.delete(address2, {}), not);
    await blobs.deleteBlob({ ...address, snapshotMicros });
    const { version } = await blobs.getProperties(address);
    await blobs.deleteBlob(address);
    await assert.rejects(blobs.containers.delete(address2, {}), not);
    await blobs.deleteBlob({ ...address, versionMicros });
    await blobs.deleteBlob({ ...address, versionMicros: version?.micros ?? -1 });
    await putBlock(blobs);
    await blobs.containers.delete(address2, {});
    isOn.immutability = false;
    await blobs.containers.create(address2, { metadata: [], publicAccess: 'none' });
    assert.equal((await blobs.containers.get(address2, {})).hasImmutableStorage, false);
    await putText(blobs, address, 'not kept');
    await blobs.containers.delete(address2, {});
  });

  it('keeps a blob that is protected while the container is deleted, or refuses it', async (t) => {
    for (const isEarly of [true, false]) {
      const during = { isArmed: false, act: async () => {} };
      // Before the commit that removes the record of the container, or behind it.
      const commits = (inner: Store): Store => ({
        ...inner,
        get: (key) => inner.get(key),
        range: (range, options) => inner.range(range, options),
        close: () => inner.close(),
        async commit(batch) {
          const isArmed = during.isArmed && batch.deletes.length > 0;
          if (isArmed) during.isArmed = false;
          if (isArmed && isEarly) await during.act();
          const committed = await inner.commit(batch);
          if (isArmed && !isEarly) await during.act();
          return committed;
        },
      });
      const { blobs, beside } = await setUp(t, { commits });
      const written: (ErrorCode | undefined)[] = [];
      during.act = async () => {
        const immutability = { hasLegalHold: true };
        written.push(await codeOf(putText(beside, address, 'kept', { immutability })));
      };
      during.isArmed = true;
      const deletion = await codeOf(blobs.containers.delete(address2, {}));
      if (isEarly) {
        assert.deepEqual([written, deletion], [[undefined], not.code]);
        assert.equal((await readAll(blobs, address)).toString(), 'kept');
      } else assert.deepEqual([written, deletion], [['ContainerNotFound'], undefined]);
    }
  });

  it('refuses a protected blob that came too late for its deletion', async (t) => {
    const made = { metadata: [], publicAccess: 'none' } as const;
    for (const isMadeAgain of [false, true]) {
      const { blobs, beside } = await setUp(t);
      async function* late() {
        yield Buffer.from('ke');
        await beside.containers.delete(address2, {});
        if (isMadeAgain) await beside.containers.create(address2, made);
        yield Buffer.from('pt');
      }
      const immutable = { ...plain, immutability: { hasLegalHold: true } };
      await assert.rejects(blobs.putBlockBlob(address, immutable, { body: late() }), {
        code: 'ContainerNotFound',
      });
      if (isMadeAgain) await beside.containers.delete(address2, {});
    }
  });

  it('is kept after its deletion only when it was empty, and comes back as one', async (t) => {
    const clock = manualClock();
    const isOn = { immutability: true };
    const { services } = blobWorld(await openTestStore('memory', t, clock), {
      clock,
      containerRetentionDays: 7,
      versioning: () => true,
      immutability: () => isOn.immutability,
    });
    const [blobs] = services;
    assert.ok(blobs !== undefined);
    await blobs.containers.create(address2, { metadata: [], publicAccess: 'none' });
    await putText(blobs, address, 'kept');
    await blobs.setLegalHold(address, true);
    isOn.immutability = false;
    await assert.rejects(blobs.containers.delete(address2, {}), not);
    await blobs.setLegalHold(address, false);
    const { version } = await blobs.getProperties(address);
    await blobs.deleteBlob(address);
    await blobs.deleteBlob({ ...address, versionMicros: version?.micros ?? -1 });
    await blobs.containers.delete(address2, {});
    const query = { limit: 9, includesDeleted: true };
    const { containers } = await blobs.containers.list(account, query);
    const [{ deleted, hasImmutableStorage } = assert.fail('it is listed')] = containers;
    assert.equal(hasImmutableStorage, true);
    await blobs.containers.restore({ ...address2, version: deleted?.version ?? '' });
    await putText(blobs, address, 'again', { immutability: { hasLegalHold: true } });
    await assert.rejects(blobs.containers.delete(address2, {}), not);
  });
});
