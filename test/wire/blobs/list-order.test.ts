import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ContainerClient } from '@azure/storage-blob';
import * as fc from 'fast-check';
import { byUnits, namePiece, namesOf } from '../../support/blob-names.js';
import { byLength } from '../../support/run-length.js';
import { officialBlobs } from '../kit/official-blobs.js';
import { startFixture } from '../kit/server.js';

// Lists of blobs with any legal names and of containers, with the official Node client, against
// plain arrays in the order of blob-service §8.1. A failure prints its seed and the shortest lists
// that fail.

const { server } = await startFixture({}, 'lmdb');
const service = officialBlobs(server);
const numRuns = byLength({ short: 16, long: 250 });
let containers = 0;

/** What people type, and what has a meaning in URLs, forms or XML. */
const typed = fc.constantFrom(
  'a',
  'A',
  'b/',
  '/',
  '.',
  '..',
  '%',
  '%2F',
  '+',
  '?',
  '#',
  '&lt;',
  '=',
);
const spaces = fc.constantFrom(' ', '\t', '\n', '\u00a0', '\u3000');
/** Their order by code points is another than by code units. */
const high = fc.constantFrom('\ue000', '\ufffd', '\u{10000}', '\u{1f600}', '\u{10ffff}');
const piece = fc.oneof(namePiece, typed, spaces, high);

interface World {
  readonly names: readonly string[];
  readonly prefix: string;
  readonly delimiter: string;
  readonly pageSizes: readonly number[];
}

const world: fc.Arbitrary<World> = fc
  .array(piece, { minLength: 1, maxLength: 6 })
  .chain((pieces) => {
    const some = fc.constantFrom(...pieces);
    const { name, beginning } = namesOf(pieces);
    return fc.record({
      names: fc.uniqueArray(name.filter(isAddressable), { minLength: 1, maxLength: 16 }),
      prefix: fc.oneof(fc.constant(''), some, beginning).map(asked),
      delimiter: fc.oneof(fc.constant('/'), some).map(asked),
      pageSizes: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 3 }),
    });
  });

/**
 * A backslash in a name becomes a slash (blob-service §1.1), and a signed query may have no line
 * break, which could begin another parameter.
 */
function asked(text: string): string {
  return text.replaceAll(/[\\\n]/g, '/');
}

/** URLs lose `.` and `..` as whole segments, before they are sent. */
function isAddressable(name: string): boolean {
  return !/(?:^|\/)\.\.?(?:\/|$)/.test(name);
}

/** The client shows the reference to a carriage return as it is (blob-service §8.4). */
function shown(name: string): string {
  return hasUnwritable(name) ? name : name.replaceAll('\r', '&#xD;');
}

/** Whether XML cannot carry it, so that it is percent-encoded. */
function hasUnwritable(name: string): boolean {
  // oxlint-disable-next-line no-control-regex -- matches what a document cannot have
  return /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/.test(name);
}

/** Stores blobs whose lengths tell them apart. */
async function filled(names: readonly string[]): Promise<ContainerClient> {
  containers += 1;
  const container = service.getContainerClient(`order-${containers}`);
  await container.create();
  await Promise.all(
    names.map((name, at) => container.getBlockBlobClient(name).upload('x'.repeat(at), at)),
  );
  return container;
}

/** Reads a list by pages of different sizes. Each page is told by `linesOf`. */
async function listed<Page extends { readonly continuationToken?: string | undefined }>(
  pagesOf: (settings: {
    readonly maxPageSize: number;
    readonly continuationToken?: string;
  }) => AsyncIterable<Page>,
  pageSizes: readonly number[],
  linesOf: (page: Page) => string[],
): Promise<string[]> {
  const lines: string[] = [];
  let continuationToken: string | undefined;
  for (let count = 0; ; count += 1) {
    assert.ok(count < 1_000, 'the list comes to an end');
    const maxPageSize = pageSizes[count % pageSizes.length] ?? 1;
    const given = continuationToken === undefined ? {} : { continuationToken };
    for await (const page of pagesOf({ maxPageSize, ...given })) {
      const found = linesOf(page);
      assert.ok(found.length <= maxPageSize);
      lines.push(...found);
      continuationToken = page.continuationToken;
      break;
    }
    if (continuationToken === undefined || continuationToken === '') return lines;
  }
}

function flatOf(container: ContainerClient, { prefix, pageSizes }: World): Promise<string[]> {
  return listed(
    (settings) => container.listBlobsFlat({ prefix }).byPage(settings),
    pageSizes,
    ({ segment }) =>
      segment.blobItems.map(({ name, properties }) => `${name} ${properties.contentLength}`),
  );
}

function groupedOf(container: ContainerClient, wanted: World): Promise<string[]> {
  const { prefix, delimiter, pageSizes } = wanted;
  return listed(
    (settings) => container.listBlobsByHierarchy(delimiter, { prefix }).byPage(settings),
    pageSizes,
    // The client takes blobs and groups apart.
    ({ segment }) =>
      [
        ...segment.blobItems.map(({ name }) => name),
        ...(segment.blobPrefixes ?? []).map(({ name }) => `${name}\0group`),
      ].toSorted(byUnits),
  );
}

function expectedGroups({ names, prefix, delimiter }: World): string[] {
  const lines = names
    .filter((name) => name.startsWith(prefix))
    .toSorted(byUnits)
    .map((name) => {
      const at = name.indexOf(delimiter, prefix.length);
      return at < 0 ? shown(name) : `${shown(name.slice(0, at + delimiter.length))}\0group`;
    });
  return [...new Set(lines)];
}

describe('a list of blobs with any legal names', () => {
  it('is in the order of their UTF-16 code units, page by page, with groups and without', async () => {
    const model = fc.asyncProperty(world, async (wanted) => {
      const { names, prefix } = wanted;
      const container = await filled(names);
      const flat = names
        .filter((name) => name.startsWith(prefix))
        .toSorted(byUnits)
        .map((name) => `${shown(name)} ${names.indexOf(name)}`);
      assert.deepEqual(await flatOf(container, wanted), flat);
      assert.deepEqual(await groupedOf(container, wanted), expectedGroups(wanted));
      await container.delete();
    });
    await fc.assert(model, { numRuns });
  });

  it('leads to each of them', async () => {
    const model = fc.asyncProperty(world, async ({ names }) => {
      const container = await filled(names);
      for (const [at, name] of names.entries()) {
        const { contentLength } = await container.getBlobClient(name).getProperties();
        assert.equal(contentLength, at);
        await container.deleteBlob(name);
      }
      assert.deepEqual(await flatOf(container, { ...empty, names }), []);
      await container.delete();
    });
    await fc.assert(model, { numRuns });
  });
});

const empty: World = { names: [], prefix: '', delimiter: '/', pageSizes: [5] };

describe('a list of containers with any legal names', () => {
  it('is in the order of their names, page by page', async () => {
    const letters = fc.string({
      unit: fc.constantFrom('a', 'b', 'z', '0', '1', '9'),
      minLength: 1,
      maxLength: 3,
    });
    const name = fc
      .array(letters, { minLength: 1, maxLength: 20 })
      .map((parts) => parts.join('-').slice(0, 50).replace(/-$/, ''));
    const model = fc.asyncProperty(
      fc.uniqueArray(name, { minLength: 1, maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 3 }),
      fc.nat(4),
      async (ends, pageSizes, cut) => {
        containers += 1;
        const run = `run${String(containers).padStart(6, '0')}`;
        const names = ends.map((end) => run + end);
        await Promise.all(names.map((each) => service.createContainer(each)));
        const prefix = run + (ends[0] ?? '').slice(0, cut);
        const found = await listed(
          (settings) => service.listContainers({ prefix }).byPage(settings),
          pageSizes,
          ({ containerItems }) => containerItems.map((each) => each.name),
        );
        const wanted = names.filter((each) => each.startsWith(prefix)).toSorted(byUnits);
        assert.deepEqual(found, wanted);
        await Promise.all(names.map((each) => service.deleteContainer(each)));
      },
    );
    await fc.assert(model, { numRuns });
  });
});
