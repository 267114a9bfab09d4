import type { Bytes } from '../../../base/bytes.js';
import { PageView, pageBytes } from '../check/page.js';
import { MalformedTreeError } from './malformed-tree-error.js';
import type { MapAccess } from './native-addon.js';
import type { FileMap } from './process-maps.js';

/** The pages of a window, beside those that it has in common with the next one. */
const windowPages = 1 << 17;
/** Pages that a window shares with the next: more than the longest value takes. */
const sharedPages = 1 << 12;

/** Some of the mapped file, in the forms in which it is read. */
export interface Window {
  readonly memory: ArrayBufferLike;
  readonly bytes: Bytes;
  readonly words: Uint16Array;
  readonly numbers: DataView;
}

/**
 * The pages of a data file, as the engine has mapped it. Valid until the environment is closed: the
 * package keeps maps that became too small. Windows, because one buffer cannot show a large file.
 */
export class MappedPages {
  /** The number of pages that are mapped. The file may be shorter. */
  readonly count: number;
  readonly #access: MapAccess;
  readonly #map: FileMap;
  readonly #windows: (Window | undefined)[];

  /** `before`: of a map that became too small. Its full windows show the same pages. */
  constructor(access: MapAccess, map: FileMap, before?: MappedPages) {
    this.#access = access;
    this.#map = map;
    this.count = Math.floor(map.bytes / pageBytes);
    this.#windows = before === undefined ? [] : before.#fullWindows();
  }

  /** The window that has a page, and some pages behind it. */
  windowOf(page: number): Window {
    if (!(page < this.count)) throw new MalformedTreeError(`page ${page} is not mapped`);
    const index = Math.floor(page / windowPages);
    return (this.#windows[index] ??= this.#windowAt(index));
  }

  /** The offset of a page in its window. */
  offsetOf(page: number): number {
    return (page % windowPages) * pageBytes;
  }

  view(page: number): PageView {
    const { bytes, words } = this.windowOf(page);
    return new PageView(bytes, words, this.offsetOf(page));
  }

  #fullWindows(): (Window | undefined)[] {
    const full = (windowPages + sharedPages) * pageBytes;
    const windows: (Window | undefined)[] = [];
    for (const [index, window] of this.#windows.entries()) {
      if (window?.bytes.length === full) windows[index] = window;
    }
    return windows;
  }

  #windowAt(index: number): Window {
    const first = index * windowPages;
    const pages = Math.min(this.count - first, windowPages + sharedPages);
    const address = this.#map.address + first * pageBytes;
    const { buffer: memory } = this.#access.createBufferForAddress(address, pages * pageBytes);
    return {
      memory,
      bytes: new Uint8Array(memory),
      words: new Uint16Array(memory),
      numbers: new DataView(memory),
    };
  }
}
