import { sleep } from '../../base/async/sleep.js';
import type { Timers } from '../../base/async/timers.js';
import type { Clock } from '../../base/clock.js';
import type { Randomness } from '../../base/randomness.js';
import { openContentIn, type CommitsAtEnd, type FileContent } from '../../content/files/content.js';
import type { ContentFiles } from '../../content/files/content-files.js';
import type { Logger } from '../../http/exchange/logger.js';
import { StoreUnavailableError } from '../../kv/errors.js';
import type { MemberStore } from '../../kv/member-store.js';
import type { Store } from '../../kv/store.js';
import { closeContent } from './close-content.js';
import { ContentLeases, renewMs, writtenBySession, type GuardedStore } from './content-leases.js';

export interface SharedContentOptions {
  /** Has the leases. */
  readonly store: MemberStore;
  /** The key space that refers to the content. */
  readonly keySpace: GuardedStore;
  /** Whether what the key space has told of its commits holds. */
  readonly isCertain: () => boolean;
  /** Whether the key space refuses commits because acknowledged ones are lost. */
  readonly refusesLoss: () => boolean;
  readonly files: ContentFiles;
  /** A name of the sessions' process that people can read. */
  readonly shown: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly randomness: Randomness;
  readonly logger: Logger;
}

/** An opening of the content, and the key space as who works with it writes it. */
interface Session {
  readonly content: FileContent;
  readonly store: Store;
  /** Ends what the session has begun: none of its commits is applied afterwards. */
  fence(): Promise<void>;
}

/**
 * Content in files that processes on several machines share, like the key space. A process that
 * stood still for long is taken for dead by the others. It then begins another session, also when
 * somebody has removed the file of its session. Nothing that it began in the former one is applied
 * any more once it begins the next.
 */
export class SharedContent {
  readonly isContentRemote = false;
  readonly isLeased = true;
  readonly #options: SharedContentOptions;
  #session: Session;
  #trouble: StoreUnavailableError | undefined;
  #onRenewed: () => void = () => undefined;
  #renewing: Promise<void> = Promise.resolve();
  #isEnded = false;

  private constructor(options: SharedContentOptions, session: Session) {
    this.#options = options;
    this.#session = session;
  }

  static async open(options: SharedContentOptions): Promise<SharedContent> {
    // A session cannot be lost before `open` has returned: that takes less time.
    let lost: () => void = () => undefined;
    const shared = new SharedContent(options, await begin(options, () => lost()));
    lost = () => shared.#lose();
    return shared;
  }

  get content(): FileContent {
    return this.#session.content;
  }

  get store(): Store {
    return this.#session.store;
  }

  /** Why nothing can be stored: the former session is lost and there is none yet. */
  trouble(): Error | undefined {
    return this.#trouble;
  }

  /** Rejects when the directory shows that nothing can be stored there at present. */
  checkPlace(): Promise<void> {
    return this.content.checkPlace();
  }

  /** `listener` is called whenever `content` and `store` have become others. */
  onRenewed(listener: () => void): void {
    this.#onRenewed = listener;
  }

  /** The fence that ends the lease keeps out commits that are under way. */
  async end(commits: CommitsAtEnd): Promise<void> {
    this.#isEnded = true;
    await this.#renewing;
    const { content } = this;
    await (commits === 'known' ? closeContent(content, this.#options.logger) : content.abandon());
  }

  #lose(): void {
    const text =
      'The session of this server is lost: it was not heard of for long and was taken for dead, or ' +
      'the file of the session was removed.';
    this.#trouble = new StoreUnavailableError(text);
    const { logger } = this.#options;
    logger.error('this server begins again with the bytes of large blobs', {
      error: this.#trouble,
    });
    this.#renewing = this.#renew();
  }

  async #renew(): Promise<void> {
    const { logger, timers } = this.#options;
    const former = this.#session;
    while (!this.#isEnded) {
      try {
        // Whoever took the session for dead has fenced it. Whoever removed its file has not.
        await former.fence();
        this.#session = await begin(this.#options, () => this.#lose());
        this.#trouble = undefined;
        this.#onRenewed();
        // Requests of the former session may still be reading.
        former.content.abandon().catch((error: unknown) => {
          logger.warn('the former session could not be left', { error });
        });
        return;
      } catch (error) {
        logger.error('the bytes of large blobs cannot be stored', { error });
        await sleep(timers, renewMs);
      }
    }
  }
}

async function begin(options: SharedContentOptions, onLost: () => void): Promise<Session> {
  const { store, keySpace, isCertain, refusesLoss, files, shown } = options;
  const { clock, timers, randomness, logger } = options;
  const onTrouble = (error: unknown): void => {
    if (error === undefined)
      logger.warn('the session of the bytes of large blobs is renewed again');
    else logger.warn('the session of the bytes of large blobs cannot be renewed', { error });
  };
  // Both the lease and the content notice it.
  let isLost = false;
  const lose = (): void => {
    if (isLost) return;
    isLost = true;
    onLost();
  };
  const opened: { content?: FileContent } = {};
  const holdIfLost = async (): Promise<void> => {
    if (!refusesLoss()) return;
    try {
      await opened.content?.hold();
    } catch (error) {
      logger.error('the bytes of blobs whose commits are lost cannot be kept from the sweep', {
        error,
      });
    }
  };
  const liveness = new ContentLeases({
    store,
    clock,
    timers,
    shown,
    isCertain,
    onLost: lose,
    onTrouble,
    holdIfLost,
  });
  const given = { clock, timers, randomness, onSessionLost: lose };
  const content = await openContentIn({ files, liveness }, given);
  opened.content = content;
  return {
    content,
    store: writtenBySession(keySpace, liveness.guard),
    fence: () => liveness.fence(),
  };
}
