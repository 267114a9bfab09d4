import { unreachable } from '../../base/invariant.js';
import { tailInChunks } from './append-content.js';
import type { BlobContext } from './blob-context.js';
import type { BlobRecord } from './blob-record.js';
import type { BlobState } from './blob-state.js';
import type { Changes } from './changes.js';
import { asPast } from './retention.js';

/** Two records of one content. */
export interface SharedContent {
  /** The record of a snapshot or a version, which later writes do not change. */
  readonly past: BlobRecord;
  /** The record of the blob. The commit writes it, so deletions and changes conflict with it. */
  readonly current: BlobRecord;
}

/**
 * Makes a commit share the content of a blob with `others` further records of the blob, which are
 * all made of `past`.
 */
export async function shareContent(
  context: Pick<BlobContext, 'store'>,
  state: BlobState,
  changes: Changes,
  { record, others }: { readonly record: BlobRecord; readonly others: number },
): Promise<SharedContent> {
  const { keys } = state;
  const content = await shareable(context, state, changes, record);
  if (content !== undefined) changes.add(keys.contentReferences(content.id), others);
  return {
    past: asPast({ ...record, content }),
    current: { ...record, content, page: pageAfter(record) },
  };
}

/** The content in a form in which later writes of the blob do not change what another reads. */
async function shareable(
  context: Pick<BlobContext, 'store'>,
  { keys }: BlobState,
  changes: Changes,
  { kind, content, bytes }: BlobRecord,
): Promise<BlobRecord['content']> {
  if (content === undefined) return undefined;
  switch (kind) {
    case 'block':
    case 'page':
      return content;
    case 'append':
      return tailInChunks(context, keys, changes, { content, bytes });
    default:
      return unreachable(kind);
  }
}

/** The other record keeps the generation of the page map; the blob writes the next one. */
function pageAfter({ page }: BlobRecord): BlobRecord['page'] {
  if (page === undefined) return undefined;
  const { generation } = page;
  return { ...page, generation: generation + 1, sharedGeneration: generation };
}
