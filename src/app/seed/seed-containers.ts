import { concurrently } from '../../base/async/concurrently.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { checkContainerName, isOfService } from '../../services/blobs/container-name.js';
import { SeedError, type SeedBlob, type SeedContainer, type SeedPath } from './seed-data.js';
import {
  checkSeedBlob,
  checkSeedMetadata,
  metadataOf,
  seedBlob,
  type ContainerTarget,
} from './seed-blobs.js';
import type { SeedMistakes } from './seed-mistakes.js';
import { refused, seedErrorOf } from './seed-tables.js';

/** A blob of a seed: its text alone, an object with all its members, or null for an empty one. */
type BlobEntry = string | SeedBlob | null;

/** Blobs that are written at the same time: each waits for the disk. */
const blobsAtOnce = 8;

/** Records mistakes that can be found before anything is created. */
export function noteContainerMistakes(
  name: string,
  content: SeedContainer,
  path: SeedPath,
  mistakes: SeedMistakes,
): void {
  mistakes.note(() => refused(path, () => checkContainerName(name)));
  mistakes.note(() => {
    if (isOfService(name)) throw new SeedError(path, 'the service keeps this container itself');
  });
  mistakes.note(() => checkSeedMetadata(content, path));
  for (const [blob, entry] of Object.entries(content.blobs ?? {})) {
    if (mistakes.isFull) return;
    mistakes.note(() => checkSeedBlob(name, blob, blobOf(entry), [...path, 'blobs', blob]));
  }
}

/** The account in which containers of a seed are created. */
type AccountTarget = Pick<ContainerTarget, 'blobs' | 'account' | 'ifExists'>;

/** Records public access that the account refuses, of containers that would get it. */
export async function noteRefusedAccess(
  { blobs: { containers }, account, ifExists }: AccountTarget,
  contents: Readonly<Record<string, SeedContainer | null>>,
  path: SeedPath,
  mistakes: SeedMistakes,
): Promise<void> {
  if (containers.permitsPublicAccess(account)) return;
  for (const [container, content] of Object.entries(contents)) {
    const { publicAccess = 'none' } = content ?? {};
    if (publicAccess === 'none' || mistakes.isFull) continue;
    // One that exists stays as it is.
    if (ifExists === 'skip' && (await containers.exists({ account, container }))) continue;
    const place = [...path, 'containers', container];
    mistakes.note(() => refused(place, () => containers.checkPublicAccess(account)));
  }
}

/** Creates the container and its blobs. */
export async function seedContainer(
  target: ContainerTarget,
  content: SeedContainer,
): Promise<void> {
  try {
    await makeContainer(target, content);
  } catch (error) {
    throw seedErrorOf(error, target.path);
  }
  await concurrently(Object.entries(content.blobs ?? {}), blobsAtOnce, ([name, entry]) =>
    seedBlob(target, name, blobOf(entry)),
  );
}

async function makeContainer(
  { blobs, account, container, ifExists }: ContainerTarget,
  content: SeedContainer,
): Promise<void> {
  const address = { account, container };
  // One that exists stays as it is, also where a new one of this public access would be refused.
  if (ifExists === 'skip' && (await blobs.containers.exists(address))) return;
  const { publicAccess = 'none' } = content;
  const metadata = metadataOf(content);
  try {
    await blobs.containers.create(address, { metadata, publicAccess });
  } catch (error) {
    const isThere = error instanceof StorageError && error.code === 'ContainerAlreadyExists';
    if (!isThere) throw error;
    if (ifExists === 'skip') return;
    const { identifiers } = await blobs.containers.getAcl(address, {});
    await blobs.containers.setAcl(address, { publicAccess, identifiers }, {});
    await blobs.containers.setMetadata(address, metadata, {});
  }
}

function blobOf(entry: BlobEntry): SeedBlob {
  return typeof entry === 'string' ? { text: entry } : (entry ?? {});
}
