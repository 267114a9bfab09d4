import { join } from 'node:path';
import type { SeedMessage } from '../../app/index.js';
import { checkSeedQueue } from '../../app/seed/seed-queues.js';
import { isDocument, readPart, textIn, type Collections, type Document } from './data-files.js';
import { accountIn, isAccepted, type Refuse, type StoredAccounts } from './stored-data.js';
import { policiesOf, propertiesOf } from './stored-settings.js';

/** The folder beside the database with the texts of messages. */
const extentsFolder = '__queuestorage__';
/** The expiry year of messages that never expire. */
const neverPrefix = '9999-';

export interface QueueSource {
  readonly folder: string;
  /** From `__azurite_db_queue__.json`. */
  readonly queues: Collections;
  /** From `__azurite_db_queue_extent__.json`. */
  readonly extents: Collections;
  readonly nowMs: number;
}

/** Adds the queues with their messages. Resolves with the number of expired messages. */
export async function addQueues(
  accounts: StoredAccounts,
  source: QueueSource,
  refuse: Refuse,
): Promise<number> {
  const messages = messagesByQueue(source.queues);
  const paths = new Map(
    (source.extents.get('$EXTENTS_COLLECTION$') ?? []).map((extent) => [
      textIn(extent, 'id'),
      textIn(extent, 'path'),
    ]),
  );
  let expired = 0;
  for (const document of source.queues.get('$QUEUES_COLLECTION$') ?? []) {
    const [account, queue] = [textIn(document, 'accountName'), textIn(document, 'name')];
    const location = `${account}/${queue}`;
    if (!isAccepted(location, refuse, () => checkSeedQueue(queue, {}, []))) continue;
    const metadata = metadataOf(document['metadata'], location, refuse);
    const kept: SeedMessage[] = [];
    for (const stored of messages.get(location) ?? []) {
      const times = timesOf(stored, source.nowMs);
      if (times === 'expired') expired += 1;
      else kept.push(...(await keptMessage(stored, times, { source, paths, location, refuse })));
    }
    const policies = policiesOf(document['queueAcl'], 'queue', location, refuse);
    accountIn(accounts, account).queues.set(queue, { metadata, messages: kept, policies });
  }
  for (const document of source.queues.get('$SERVICES_COLLECTION$') ?? []) {
    const name = textIn(document, 'accountName');
    if (name !== '') accountIn(accounts, name).queueProperties = propertiesOf(document);
  }
  return expired;
}

/** In Azurite's dequeue order. */
function messagesByQueue(collections: Collections): ReadonlyMap<string, readonly Document[]> {
  const byQueue = new Map<string, Document[]>();
  for (const message of collections.get('$MESSAGES_COLLECTION$') ?? []) {
    const location = `${textIn(message, 'accountName')}/${textIn(message, 'queueName')}`;
    const messages = byQueue.get(location) ?? [];
    messages.push(message);
    byQueue.set(location, messages);
  }
  const visible = ({ timeNextVisible }: Document): number => Number(timeNextVisible);
  for (const messages of byQueue.values()) messages.sort((a, b) => visible(a) - visible(b));
  return byQueue;
}

type Times = Required<Pick<SeedMessage, 'visibilitySeconds' | 'timeToLiveSeconds'>>;

/**
 * The remaining times from now; undefined for an expired message, or one that expires before it is
 * visible.
 */
function timesOf(message: Document, nowMs: number): Times | 'expired' {
  const visibleMs = Number(message['timeNextVisible']) - nowMs;
  const visibilitySeconds = Math.max(0, Math.ceil(visibleMs / 1000) || 0);
  const expiration = textIn(message, 'expirationTime');
  if (expiration.startsWith(neverPrefix)) return { visibilitySeconds, timeToLiveSeconds: -1 };
  const timeToLiveSeconds = Math.floor((Date.parse(expiration) - nowMs) / 1000);
  if (timeToLiveSeconds < 1 || visibilitySeconds >= timeToLiveSeconds) return 'expired';
  return { visibilitySeconds, timeToLiveSeconds };
}

/** One message; undefined when it cannot be imported. */
async function keptMessage(
  message: Document,
  times: Times,
  context: {
    readonly source: QueueSource;
    readonly paths: ReadonlyMap<string, string>;
    readonly location: string;
    readonly refuse: Refuse;
  },
): Promise<readonly SeedMessage[]> {
  const { source, paths, location, refuse } = context;
  const own = `${location}/messages/${textIn(message, 'messageId')}`;
  const part = isDocument(message['persistency']) ? message['persistency'] : {};
  const path = paths.get(textIn(part, 'id')) ?? textIn(part, 'id');
  const range = { offset: Number(part['offset']), count: Number(part['count']) };
  const bytes = await readPart(join(source.folder, extentsFolder), path, range);
  if (bytes === undefined) {
    refuse(own, `its text is not in ${extentsFolder}`);
    return [];
  }
  const made = { text: bytes.toString('utf8'), ...times };
  return isAccepted(own, refuse, () => checkSeedQueue('any', { messages: [made] }, []))
    ? [made]
    : [];
}

/** Without refused pairs: invalid metadata must not lose the messages of a queue. */
function metadataOf(
  value: unknown,
  location: string,
  refuse: Refuse,
): Readonly<Record<string, string>> {
  const isGood = (metadata: Readonly<Record<string, string>>): boolean =>
    isAccepted(location, refuse, () => checkSeedQueue('any', { metadata }, []));
  const good = Object.entries(textsOf(value)).filter(([name, text]) => isGood({ [name]: text }));
  const metadata = Object.fromEntries(good);
  // Each pair may be valid and the total too long.
  return isGood(metadata) ? metadata : {};
}

function textsOf(value: unknown): Readonly<Record<string, string>> {
  if (!isDocument(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([name, text]) => [name, String(text)]));
}
