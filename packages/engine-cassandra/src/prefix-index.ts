import type { KeyRange } from 'tabularium/kv';
import { startsWith, type Bytes } from './bytes.js';
import { containerOf } from './places.js';
import type { Session } from './session.js';
import type { Statements } from './statements.js';

const childrenEach = 200;
const root: Bytes = Buffer.alloc(0);

/**
 * The prefixes of a store in order, in two levels, so that no partition of the cluster has them
 * all. A prefix is in it before its first entry, and stays.
 */
export class PrefixIndex {
  readonly #session: Session;
  readonly #statements: Statements;

  constructor(session: Session, statements: Statements) {
    this.#session = session;
    this.#statements = statements;
  }

  async add(prefix: Bytes): Promise<void> {
    const container = containerOf(prefix);
    await this.#session.write(this.#statements.addChild(root, container));
    await this.#session.write(this.#statements.addChild(container, prefix));
  }

  /** The prefixes that may have keys of a range, in the order of the read. */
  async *within(range: KeyRange, reverse: boolean): AsyncGenerator<Bytes> {
    for await (const container of this.#children(root, range, reverse)) {
      yield* this.#children(container, range, reverse);
    }
  }

  async *#children(
    parent: Bytes,
    { start, end }: KeyRange,
    reverse: boolean,
  ): AsyncGenerator<Bytes> {
    const from = await this.#firstOf(parent, start);
    const statement = this.#statements.readChildren(parent, from, end, reverse);
    let next: string | undefined;
    do {
      const page = await this.#session.readPage(statement, childrenEach, next);
      for (const { child } of page.rows) yield child as Buffer;
      next = page.next;
    } while (next !== undefined);
  }

  /** No child begins another, so one at most is before the start and begins it. */
  async #firstOf(parent: Bytes, start: Bytes): Promise<Bytes> {
    if (start.length === 0) return start;
    const { rows } = await this.#session.readPage(this.#statements.readChildUpTo(parent, start), 1);
    const child = rows[0]?.['child'] as Buffer | undefined;
    return child !== undefined && startsWith(start, child) ? child : start;
  }
}
