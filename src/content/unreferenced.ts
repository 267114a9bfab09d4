import { nameOfBytes, type Bytes } from '../base/bytes.js';
import type { ExtentId, IsReferenced } from './content-store.js';

/** An extent that the key space may not name. */
export interface Suspect {
  readonly id: ExtentId;
  readonly owner: Bytes;
}

/** The suspects that the key space does not name. Asks once for each owner. */
export async function unreferenced(
  suspects: readonly Suspect[],
  isReferenced: IsReferenced,
): Promise<readonly ExtentId[]> {
  const byOwner = new Map<string, { readonly owner: Bytes; readonly ids: ExtentId[] }>();
  for (const { id, owner } of suspects) {
    const name = nameOfBytes(owner);
    const found = byOwner.get(name);
    if (found === undefined) byOwner.set(name, { owner, ids: [id] });
    else found.ids.push(id);
  }
  const orphans: ExtentId[] = [];
  for (const { owner, ids } of byOwner.values()) {
    const named = await isReferenced(owner, ids);
    for (const id of ids) if (!named.has(id)) orphans.push(id);
  }
  return orphans;
}
