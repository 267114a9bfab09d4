import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { it } from '../../base/conformance/suite-test.js';
import type { ContentStore, ExtentId } from '../content-store.js';
import { isThere, naming, piecesOf, putWaiting, readAll, sample, sweep } from './samples.js';
import type { ContentSuite, OpenedContent } from './suite.js';

type Operation =
  | { readonly kind: 'put'; readonly size: number; readonly commits: boolean }
  | { readonly kind: 'fail'; readonly size: number }
  | { readonly kind: 'link' | 'free' | 'read'; readonly pick: number }
  | { readonly kind: 'retain' | 'release' | 'snapshot' | 'restore' | 'sweep' }
  | { readonly kind: 'reopen'; readonly end: 'closed' | 'crashed' };

const size = fc.oneof(fc.nat(200), fc.integer({ min: 65_000, max: 200_000 }));
const pick = fc.nat(1000);

const operations: fc.Arbitrary<readonly Operation[]> = fc.array(
  fc.oneof(
    {
      arbitrary: fc.record({ kind: fc.constant('put' as const), size, commits: fc.boolean() }),
      weight: 6,
    },
    { arbitrary: fc.record({ kind: fc.constant('fail' as const), size }), weight: 1 },
    {
      arbitrary: fc.record({ kind: fc.constantFrom('link', 'free', 'read'), pick }),
      weight: 7,
    },
    {
      arbitrary: fc.record({
        kind: fc.constantFrom('retain', 'release', 'snapshot', 'restore', 'sweep'),
      }),
      weight: 5,
    },
    {
      arbitrary: fc.record({
        kind: fc.constant('reopen' as const),
        end: fc.constantFrom('closed', 'crashed'),
      }),
      weight: 1,
    },
  ),
  { minLength: 1, maxLength: 40, size: 'max' },
);

/** In every run: what random operations need some luck for. */
const restored: readonly Operation[] = [
  { kind: 'snapshot' },
  { kind: 'put', size: 1, commits: true },
  { kind: 'restore' },
];

/** Any sequence of operations does what a map does. */
export function modelConformance(suite: ContentSuite): void {
  it('keeps what is named, and after a sweep nothing else, whatever the operations', async () => {
    const property = fc.asyncProperty(operations, async (sequence) => {
      const opened = await suite.open();
      try {
        const model = new Model(opened);
        for (const operation of sequence) await model.apply(operation);
        await model.end();
      } finally {
        await opened.dispose();
      }
    });
    await fc.assert(property, { numRuns: suite.modelRuns, examples: [[restored]] });
  });
}

/** A key space that names extents, and services that keep the rules of `ContentStore`. */
class Model {
  readonly #opened: OpenedContent;
  #content: ContentStore;
  readonly #bytes = new Map<ExtentId, Buffer>();
  #named = new Set<ExtentId>();
  /** Stored, and waiting for their commits. */
  readonly #waiting = new Set<ExtentId>();
  #releases: (() => void)[] = [];
  /** The extents that were referenced when the retention began. */
  #snapshot: ReadonlySet<ExtentId> | undefined;

  constructor(opened: OpenedContent) {
    this.#opened = opened;
    this.#content = opened.content;
  }

  async apply(operation: Operation): Promise<void> {
    switch (operation.kind) {
      case 'put':
        return this.#put(operation.size, operation.commits);
      case 'fail':
        return this.#fail(operation.size);
      case 'link':
        return this.#link(this.#pick(operation.pick));
      case 'free':
        return this.#free(this.#pick(operation.pick));
      case 'read':
        return this.#read(this.#pick(operation.pick));
      case 'retain':
        this.#releases.push(this.#content.retain());
        return undefined;
      case 'release':
        return this.#release();
      case 'snapshot':
        this.#releases.push(this.#content.retain());
        this.#snapshot = new Set(this.#named);
        return undefined;
      case 'restore':
        return this.#restore();
      case 'sweep':
        return this.#sweep();
      case 'reopen':
        return this.#reopen(operation.end);
    }
  }

  async end(): Promise<void> {
    for (const release of this.#releases) release();
    this.#releases = [];
    await this.#sweep();
    for (const id of this.#named) await this.#read(id);
    const there = new Set([...this.#named, ...this.#waiting]);
    assert.equal(await this.#opened.count(), there.size);
  }

  #pick(pick: number): ExtentId | undefined {
    return Array.from(this.#named)[pick % Math.max(1, this.#named.size)];
  }

  async #put(bytes: number, commits: boolean): Promise<void> {
    const content = sample(bytes, bytes + 1);
    const id = await putWaiting(this.#content, content);
    this.#bytes.set(id, content);
    if (commits) this.#commit(id);
    else this.#waiting.add(id);
  }

  /** A commit that names the extent was acknowledged. */
  #commit(id: ExtentId): void {
    this.#waiting.delete(id);
    this.#named.add(id);
    this.#content.confirm([id]);
  }

  async #fail(bytes: number): Promise<void> {
    async function* source(): AsyncGenerator<Buffer, void, void> {
      yield* piecesOf(sample(bytes));
      throw new Error('the client has left');
    }
    await assert.rejects(this.#content.put(source(), Buffer.from('owner')));
  }

  async #link(from: ExtentId | undefined): Promise<void> {
    if (from === undefined) return;
    const { id } = await this.#content.link(from, Buffer.from('owner'));
    this.#bytes.set(id, this.#bytes.get(from) ?? Buffer.alloc(0));
    this.#commit(id);
  }

  async #free(id: ExtentId | undefined): Promise<void> {
    if (id === undefined) return;
    this.#named.delete(id);
    await this.#content.free([id]);
    assert.equal(await isThere(this.#content, id), this.#releases.length > 0);
  }

  async #read(id: ExtentId | undefined): Promise<void> {
    if (id === undefined) return;
    assert.ok((await readAll(this.#content, id)).equals(this.#bytes.get(id) ?? Buffer.alloc(1)));
  }

  #release(): void {
    this.#releases.pop()?.();
    if (this.#releases.length === 0) this.#snapshot = undefined;
  }

  async #restore(): Promise<void> {
    if (this.#snapshot === undefined) return;
    await this.#content.suspectAll();
    this.#named = new Set(this.#snapshot);
  }

  async #sweep(): Promise<void> {
    await sweep(this.#content, naming(...this.#named));
    for (const id of this.#waiting) await this.#read(id);
  }

  async #reopen(end: 'closed' | 'crashed'): Promise<void> {
    const { reopen } = this.#opened;
    if (reopen === undefined) return;
    // One commit was applied, and its answer is lost; the others are lost.
    for (const id of Array.from(this.#waiting).slice(0, 1)) this.#named.add(id);
    this.#waiting.clear();
    this.#releases = [];
    this.#snapshot = undefined;
    this.#content = await reopen(end);
  }
}
