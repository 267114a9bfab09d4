import { isPropertyName } from '../../model/edm/property-name.js';

/** What a name in a body stands for. */
export interface MemberName {
  readonly text: string;
  /**
   * `skipped`: metadata, whose value does not matter. `invalid`: looks like an annotation and is
   * none.
   */
  readonly role: 'member' | 'annotation' | 'skipped' | 'invalid';
  /** Of an annotation: the name of what it gives a type to. */
  readonly target: string;
  /** Of a member: whether a property may have the name, its length aside. */
  readonly legal: boolean;
  /** Differs for most names that differ, and is compared first. */
  readonly mark: number;
}

const annotationSuffix = '@odata.type';
const metadataPrefix = 'odata.';

export function readName(text: string): MemberName {
  // Metadata and annotations hold a dot or an at sign, so no legal name is either.
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

/** Bodies of one client tend to have the same names in the same places. */
const placesMax = 64;
const nameLengthMax = 64;

/** Remembers which name was last seen at each of the first places of a body. */
export class NameMemory {
  readonly #names: MemberName[] = [];

  read(place: number, text: string): MemberName {
    const known = this.#names[place];
    if (known !== undefined && known.text === text) return known;
    if (place > this.#names.length || place >= placesMax || text.length > nameLengthMax) {
      return readName(text);
    }
    // A copy, because a part of a text keeps the whole of it alive.
    const name = readName(String(JSON.parse(JSON.stringify(text))));
    this.#names[place] = name;
    return name;
  }
}
