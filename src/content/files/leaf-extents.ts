import type { ContentFiles } from './content-files.js';
import { isOwnerFile, placeNamed, sessionFolder, type ExtentPlace } from './extent-place.js';

/** The extents that have files in a folder of a session. Of a link, one file may be missing. */
export async function extentsIn(
  files: ContentFiles,
  session: string,
  leaf: string,
): Promise<readonly ExtentPlace[]> {
  const names = await files.list(`${sessionFolder(session)}/${leaf}`);
  const places: ExtentPlace[] = [];
  const linksSeen = new Set<number>();
  for (const name of names) {
    const place = placeNamed(session, name);
    if (place === undefined) continue;
    if (place.isLink || isOwnerFile(name)) {
      if (linksSeen.has(place.number)) continue;
      linksSeen.add(place.number);
    }
    places.push(place);
  }
  return places;
}
