import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  account,
  at,
  body,
  container,
  openBlobs,
  plain,
} from '../../../test/support/blob-world.js';
import { manualClock } from '../../base/clock.js';
import { openMemoryStore } from '../../engines/memory/store.js';
import { prefixRange, encodeTuple } from '../../kv/tuple.js';
import { queryFinds, type TagOperator, type TagQuery } from '../../model/blobs/tag-expression.js';
import type { Tags } from '../../model/blobs/tags.js';
import type { BlobService } from './blob-service.js';
import { kindOfKey } from './keys.js';
import { tagHintGraceMicros } from './tag-hints.js';
import type { FindOptions, FindPosition, FoundBlobs } from './types.js';

const other = { account, container: 'other' };

async function setUp(versioning = false) {
  const clock = manualClock();
  const store = await openMemoryStore({ clock });
  const world = await openBlobs(store, clock, { versioning: () => versioning });
  await world.blobs.containers.create(other, { metadata: [], publicAccess: 'none' });
  return world;
}

const values = ['', 'a', 'b', 'b/', 'c'] as const;
const tags: fc.Arbitrary<Tags> = fc.uniqueArray(
  fc.tuple(fc.constantFrom('k', 'l', 'k '), fc.constantFrom(...values)),
  { selector: ([name]) => name, maxLength: 3 },
);
interface Step {
  readonly container: string;
  readonly name: string;
  readonly change: { readonly kind: string; readonly tags: Tags };
}

const stepIn = (...names: readonly string[]): fc.Arbitrary<Step> =>
  fc.record({
    container: fc.constantFrom(container, 'other'),
    name: fc.constantFrom(...names),
    change: fc.oneof(
      fc.record({ kind: fc.constantFrom('put', 'tag'), tags }),
      fc.constant({ kind: 'delete', tags: [] as Tags }),
    ),
  });
const step = stepIn('a', 'b', 'b/c', '\ud83d\ude00', '\uffff');
const operators: readonly TagOperator[] = ['=', '<', '<=', '>', '>='];
const comparison = fc.record({
  kind: fc.constant('comparison' as const),
  tag: fc.constantFrom('k', 'l'),
  operator: fc.constantFrom(...operators),
  value: fc.constantFrom(...values),
});
const query: fc.Arbitrary<TagQuery> = fc.record({
  container: fc.option(fc.constantFrom(container, 'other', 'none'), { nil: undefined }),
  comparisons: fc.array(comparison, { minLength: 1, maxLength: 3 }),
});

async function all(
  find: (options: FindOptions) => Promise<FoundBlobs>,
  limit: number,
): Promise<string[]> {
  const found: string[] = [];
  let from: FindPosition | undefined;
  for (;;) {
    const page = await find(from === undefined ? { limit } : { limit, from });
    assert.ok(page.blobs.length <= limit);
    found.push(...page.blobs.map(({ container: of, name, tags: has }) => lineOf(of, name, has)));
    if (page.next === undefined) return found;
    assert.equal(page.blobs.length, limit, 'a page is full where there is more');
    from = page.next;
  }
}

function lineOf(of: string, name: string, has: Tags): string {
  return JSON.stringify([of, name, has]);
}

/** `past`: takes what is replaced and deleted. */
async function apply(
  blobs: BlobService,
  model: Map<string, Tags>,
  { container: of, name, change }: Step,
  past: [id: string, tags: Tags][] = [],
): Promise<void> {
  const address = { account, container: of, blob: name };
  const id = JSON.stringify([of, name]);
  const before = model.get(id);
  if (before !== undefined && change.kind !== 'tag') past.push([id, before]);
  if (change.kind === 'put') {
    const blob = { headers: {}, metadata: [], tags: change.tags };
    await blobs.putBlockBlob(address, blob, { body: body('x') });
    model.set(id, change.tags);
  } else if (model.has(id)) {
    if (change.kind === 'tag') await blobs.setTags(address, change.tags);
    else await blobs.deleteBlob(address);
    if (change.kind === 'tag') model.set(id, change.tags);
    else model.delete(id);
  }
}

function expected(model: Iterable<readonly [string, Tags]>, wanted: TagQuery): string[] {
  const named = new Set(wanted.comparisons.map(({ tag }) => tag));
  return [...model].flatMap(([id, has]) => {
    const [of, name] = JSON.parse(id) as [string, string];
    if (!queryFinds(wanted, of, has)) return [];
    return [
      lineOf(
        of,
        name,
        has.filter(([tag]) => named.has(tag)),
      ),
    ];
  });
}

describe('a search by tags', () => {
  it('finds what a plain map has, page by page, whatever was changed', async () => {
    const steps = fc.array(step, { maxLength: 12 });
    const limits = fc.integer({ min: 1, max: 4 });
    const model = fc.asyncProperty(steps, query, limits, async (changes, wanted, limit) => {
      const { blobs } = await setUp();
      const known = new Map<string, Tags>();
      for (const change of changes) await apply(blobs, known, change);
      const lines = expected(known, wanted);
      const inAccount = await all(
        (options) => blobs.findInAccount(account, wanted, options),
        limit,
      );
      assert.deepEqual(inAccount.toSorted(), lines.toSorted());
      const inOne = { ...wanted, container: undefined };
      const found = await all((options) => blobs.findInContainer(other, inOne, options), limit);
      const ofOther = expected(known, { ...wanted, container: 'other' });
      assert.deepEqual(found.toSorted(), ofOther.toSorted());
    });
    await fc.assert(model, { numRuns: 75 });
  });

  it('finds versions as well, in an order that pages keep, however long they are there', async () => {
    const steps = fc.array(stepIn('a', 'b'), { minLength: 8, maxLength: 16 });
    const limits = fc.integer({ min: 1, max: 3 });
    const model = fc.asyncProperty(steps, query, limits, async (changes, wanted, limit) => {
      const { blobs, clock } = await setUp(true);
      const known = new Map<string, Tags>();
      const past: [string, Tags][] = [];
      for (const change of changes) {
        await apply(blobs, known, change, past);
        clock.advanceMicros(tagHintGraceMicros + 1_000_000);
      }
      const find = (versions: boolean) => (options: FindOptions) =>
        blobs.findInAccount(account, wanted, { ...options, versions });
      assert.deepEqual(
        (await all(find(false), limit)).toSorted(),
        expected(known, wanted).toSorted(),
      );
      const found = await all(find(true), limit);
      assert.deepEqual(found.toSorted(), expected([...known, ...past], wanted).toSorted());
      const { blobs: inOne } = await find(true)({ limit: 1000 });
      assert.deepEqual(
        inOne.map(({ container: of, name, tags: has }) => lineOf(of, name, has)),
        found,
      );
      for (const [at, { name, version }] of inOne.entries()) {
        assert.ok(version !== undefined);
        const next = inOne[at + 1];
        const isSame = next?.name === name && next.container === inOne[at]?.container;
        if (!version.isCurrent || !isSame) continue;
        assert.notDeepEqual(next.tags, inOne[at]?.tags, 'a blob comes behind its versions');
      }
    });
    await fc.assert(model, { numRuns: 60 });
  });

  it('forgets what no blob justifies, but not while a blob may be about to', async () => {
    const { blobs, store, clock } = await setUp();
    const blob = { headers: {}, metadata: [], tags: [['k', 'a']] as const };
    const hints = async () => {
      const range = prefixRange(encodeTuple(['blob', account]));
      const { entries } = await store.range(range, { limit: 1000, bytesMax: Infinity });
      const inContainers = entries.filter(({ key }) => key.length > 20);
      return inContainers.filter(({ key }) => kindOfKey(key) === undefined).length;
    };
    const search = () =>
      blobs.findInContainer(
        at('a'),
        {
          container: undefined,
          comparisons: [{ kind: 'comparison', tag: 'k', operator: '>=', value: '' }],
        },
        { limit: 10 },
      );
    await blobs.putBlockBlob(at('a'), blob, { body: body('x') });
    await blobs.putBlockBlob(at('b'), blob, { body: body('x') });
    await blobs.setTags(at('a'), [['k', 'b']]);
    const before = await hints();
    assert.equal((await search()).blobs.length, 2);
    assert.equal(await hints(), before);
    clock.advanceMicros(tagHintGraceMicros + 1_000_000);
    assert.equal((await search()).blobs.length, 2);
    assert.equal(await hints(), before - 1);
    assert.equal((await search()).blobs.length, 2);
  });

  it('finds the tags of a blob that was copied from elsewhere for hours', async () => {
    const { blobs, clock } = await setUp();
    const comparisons = [{ kind: 'comparison', tag: 'k', operator: '=', value: 'v' }] as const;
    const found = async () => {
      const wanted = { container: undefined, comparisons };
      return (await blobs.findInContainer({ account, container }, wanted, { limit: 10 })).blobs;
    };
    async function* slowly() {
      clock.advanceMicros(2 * tagHintGraceMicros);
      assert.deepEqual(await found(), []);
      yield* body('x');
    }
    const source = {
      blob: { ...plain, kind: 'block', bytes: 1, sequenceNumber: undefined, append: undefined },
      blocks: () => Promise.resolve([]),
      pages: () => Promise.resolve([]),
      read: slowly,
    } as const;
    const request = { sourceUrl: 'http://h/x', tags: [['k', 'v']] } as const;
    await blobs.copyForeign(at('slow'), { source, request });
    assert.deepEqual(
      (await found()).map(({ name }) => name),
      ['slow'],
    );
  });

  it('ends a page on time between containers that have nothing', async () => {
    const clock = manualClock();
    const store = await openMemoryStore({ clock });
    let secondsPerRead = 0;
    let reads = 0;
    const { blobs } = await openBlobs(store, clock, {
      commits: (plainStore) => ({
        get: (key) => plainStore.get(key),
        getMany: (keys) => plainStore.getMany(keys),
        commit: (batch) => plainStore.commit(batch),
        close: () => plainStore.close(),
        range(range, options) {
          reads += 1;
          clock.advanceMicros(secondsPerRead * 1_000_000);
          return plainStore.range(range, options);
        },
      }),
    });
    const names = Array.from({ length: 25 }, (_, index) => `empty-${10 + index}`);
    for (const name of names) {
      const made = { account, container: name };
      await blobs.containers.create(made, { metadata: [], publicAccess: 'none' });
    }
    for (const name of [names[7], names[24]]) {
      const address = { account, container: name ?? '', blob: 'b' };
      await blobs.putBlockBlob(address, { ...plain, tags: [['k', 'v']] }, { body: body('x') });
    }
    secondsPerRead = 1;
    const comparisons = [{ kind: 'comparison', tag: 'k', operator: '=', value: 'v' }] as const;
    const found: string[] = [];
    let pages = 0;
    for (let from: FindPosition | undefined, more = true; more; pages += 1) {
      reads = 0;
      const options = { limit: 10, ...(from !== undefined && { from }) };
      const wanted = { container: undefined, comparisons };
      const page = await blobs.findInAccount(account, wanted, options);
      assert.ok(reads <= 7, `${reads} reads for a page`);
      found.push(...page.blobs.map(({ container: of }) => of));
      from = page.next;
      more = from !== undefined;
    }
    assert.deepEqual(found, [names[7], names[24]]);
    assert.ok(pages >= 5);
  });

  it('needs a container that is there', async () => {
    const { blobs } = await setUp();
    const wanted = {
      container: undefined,
      comparisons: [{ kind: 'comparison', tag: 'k', operator: '=', value: 'a' }],
    } as const;
    const missing = blobs.findInContainer({ account, container: 'none' }, wanted, { limit: 1 });
    await assert.rejects(missing, { code: 'ContainerNotFound' });
  });
});
