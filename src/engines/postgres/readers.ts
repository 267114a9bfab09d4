import { setMaxListeners } from 'node:events';
import { DatabaseError } from 'pg';
import { Slots } from '../../base/async/slots.js';
import { StoreClosedError, StoreUnavailableError } from '../../kv/errors.js';
import { isAway, unavailable } from './failures.js';
import type { Link } from './link.js';
import type { LinkSource } from './link-source.js';
import type { Row } from './rows.js';
import type { Statement } from './statements.js';

/** How long a read waits for a server: less than a request has (30 s), so that it can say so. */
const connectLimitMs = 20_000;
/** Attempts of a read whose connections are lost. */
const attemptsMax = 5;
/** A read waits for its connection however long. */
const never = new AbortController().signal;
// Each read that waits listens to it.
setMaxListeners(0, never);

/** Connections that reads of one statement share. */
export class SharedReaders {
  readonly #source: LinkSource;
  readonly #links: (Promise<Link> | undefined)[];
  #turn = 0;

  constructor(source: LinkSource, count: number) {
    this.#source = source;
    this.#links = Array.from({ length: count });
  }

  async read(statement: Statement, values: readonly unknown[]): Promise<readonly Row[]> {
    const read = async () => (await this.#next()).query(statement, values);
    return again(this.#source, read);
  }

  async close(): Promise<void> {
    const links = this.#links.splice(0);
    await Promise.all(links.map(async (link) => (await link?.catch(() => undefined))?.close()));
  }

  async #next(): Promise<Link> {
    if (this.#links.length === 0) throw new StoreClosedError();
    this.#turn = (this.#turn + 1) % this.#links.length;
    const at = this.#turn;
    for (let opening = this.#links[at]; opening !== undefined; opening = this.#links[at]) {
      const link = await opening.catch(() => undefined);
      if (link?.isLost === false) return link;
      // Others may have begun to open the next one meanwhile.
      if (this.#links[at] === opening) break;
    }
    const opened = this.#source.connect(connectLimitMs, true);
    this.#links[at] = opened;
    return opened;
  }
}

/** Connections for reads of several statements in one snapshot: one read at a time on each. */
export class SnapshotReaders {
  readonly #source: LinkSource;
  readonly #idle: Link[] = [];
  readonly #slots: Slots;
  #isClosed = false;

  constructor(source: LinkSource, count: number) {
    this.#source = source;
    this.#slots = new Slots(count);
  }

  /** When the connection is lost the function is called again, as long as `mayRepeat`. */
  async read<T>(within: (link: Link) => Promise<T>, mayRepeat: () => boolean): Promise<T> {
    return again(this.#source, () => this.#readOnce(within), mayRepeat);
  }

  /** Reads under way end as they would; their connections are closed behind them. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#idle.splice(0).map((link) => link.close()));
  }

  async #readOnce<T>(within: (link: Link) => Promise<T>): Promise<T> {
    await this.#slots.take(1, never);
    let link = this.#idle.pop();
    try {
      if (this.#isClosed) throw new StoreClosedError();
      if (link === undefined || link.isLost) link = await this.#source.connect(connectLimitMs);
      await link.run('begin isolation level repeatable read read only');
      const result = await within(link);
      await link.run('commit');
      if (this.#isClosed) await link.close();
      else this.#idle.push(link);
      return result;
    } catch (error) {
      const isOfCaller = link?.isLost === false && !(error instanceof DatabaseError);
      link?.cut();
      // What has broken one connection has probably broken those that nobody uses.
      if (!isOfCaller && isAway(error)) for (const idle of this.#idle.splice(0)) idle.cut();
      throw isOfCaller ? new CallerError(error) : error;
    } finally {
      this.#slots.give(1);
    }
  }
}

/** What the caller of a read has thrown itself, such as a guard that does not hold. */
class CallerError extends Error {
  override readonly name = 'CallerError';

  constructor(cause: unknown) {
    super('The caller of a read ended it.', { cause });
  }
}

/** Repeats a read whose connection was lost. */
async function again<T>(
  source: LinkSource,
  read: () => Promise<T>,
  mayRepeat = () => true,
): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await read();
    } catch (error) {
      if (error instanceof CallerError) throw error.cause;
      if (error instanceof StoreClosedError || error instanceof StoreUnavailableError) throw error;
      if (!isAway(error)) throw error;
      if (failures >= attemptsMax || !mayRepeat()) throw unavailable(error);
      await source.pause(failures);
    }
  }
}
