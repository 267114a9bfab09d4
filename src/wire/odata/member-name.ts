import { isPropertyName } from '../../model/edm/property-name.js';

/** The role of a name in a body. */
export interface MemberName {
  readonly text: string;
  /** `skipped`: metadata, whose value is ignored. `invalid`: a malformed annotation. */
  readonly role: 'member' | 'annotation' | 'skipped' | 'invalid';
  /** The name of the member that an annotation is about. */
  readonly target: string;
  /** Whether properties may have the name of a member, its length aside. */
  readonly legal: boolean;
  /** A cheap hash of the name, compared first. */
  readonly mark: number;
}

const annotationSuffix = '@odata.type';
const metadataPrefix = 'odata.';

export function readName(text: string): MemberName {
  // Metadata and annotations contain a dot or an at sign, which legal names do not.
  const legal = isPropertyName(text);
  const mark = markOf(text);
  let role: MemberName['role'] = 'member';
  let target = '';
  if (legal ? text === 'Timestamp' : text.startsWith(metadataPrefix)) role = 'skipped';
  else if (!legal && text.includes('@')) {
    if (text.endsWith(annotationSuffix)) {
      target = text.slice(0, -annotationSuffix.length);
      const isSkipped = target === 'Timestamp' || target.startsWith(metadataPrefix);
      role = isSkipped ? 'skipped' : 'annotation';
    } else role = text.includes('@odata.') ? 'skipped' : 'invalid';
  }
  return { text, role, target, legal, mark };
}

export function markOf(name: string): number {
  const { length } = name;
  return (length << 16) ^ (name.charCodeAt(length - 1) << 8) ^ name.charCodeAt(length >> 1);
}

/** Remembered positions. Bodies of one client tend to have the same names in the same order. */
const placesMax = 64;
const nameLengthMax = 64;

/** Caches the name that was last seen at each of the first positions of a body. */
export class NameMemory {
  readonly #names: MemberName[] = [];

  read(place: number, text: string): MemberName {
    const known = this.#names[place];
    if (known !== undefined && known.text === text) return known;
    if (place > this.#names.length || place >= placesMax || text.length > nameLengthMax) {
      return readName(text);
    }
    // A copy, because a substring keeps its whole parent alive.
    const name = readName(String(JSON.parse(JSON.stringify(text))));
    this.#names[place] = name;
    return name;
  }
}
