/** What clients see of a blob: its type, its bytes, and the snapshots that they were told of. */
export interface Image {
  readonly kind: 'block' | 'append' | 'page';
  readonly bytes: Buffer;
  /** By the time that the server gave them. */
  readonly snapshots: ReadonlyMap<string, Buffer>;
}

/** So many versions of a blob are remembered. */
const versionsMax = 5;

/** A blob that one worker writes, one request at a time. */
export class KnownBlob {
  readonly path: string;
  /** What may be there: one image, or two while a request has no answer. `undefined`: no blob. */
  #possible: readonly (Image | undefined)[] = [undefined];
  /** Blocks that were acknowledged and wait for their list, in the order of their ids. */
  #staged = new Map<string, Buffer>();

  readonly #versions = new Map<string, Buffer>();

  constructor(path: string) {
    this.path = path;
  }

  get possible(): readonly (Image | undefined)[] {
    return this.#possible;
  }

  /** What is there. Throws while it is not known. */
  get image(): Image | undefined {
    if (this.#possible.length !== 1) throw new Error(`what ${this.path} holds is not known`);
    return this.#possible[0];
  }

  get isKnown(): boolean {
    return this.#possible.length === 1;
  }

  /** What the last versions had that are never written again, by their ids. */
  get versions(): ReadonlyMap<string, Buffer> {
    return this.#versions;
  }

  /** Takes note of a version that no later write changes. */
  keep(version: string, bytes: Buffer): void {
    this.#versions.set(version, bytes);
    const [oldest] = this.#versions.keys();
    if (this.#versions.size > versionsMax && oldest !== undefined) this.#versions.delete(oldest);
  }

  get staged(): ReadonlyMap<string, Buffer> {
    return this.#staged;
  }

  stage(id: string, bytes: Buffer): void {
    this.#staged.set(id, bytes);
  }

  /** A write that replaces the blob, or deletes it, takes blocks along. */
  unstage(): void {
    this.#staged = new Map();
  }

  issue(after: Image | undefined): void {
    this.#possible = [this.image, after];
  }

  acknowledge(after: Image | undefined): void {
    this.#possible = [after];
  }

  /**
   * Takes what was found as what is there. Returns what is wrong with it; undefined: it is one of
   * the possible images. Snapshots are not compared.
   */
  settle(found: Pick<Image, 'kind' | 'bytes'> | undefined): string | undefined {
    const image = this.#possible.find((each) => isSame(each, found));
    if (image === undefined && found !== undefined) {
      const wanted = this.#possible.map(shown).join(' or ');
      return `${this.path} is ${shown(found)}, not ${wanted}`;
    }
    if (found === undefined && !this.#possible.includes(undefined)) return `${this.path} is lost`;
    this.#possible = [image];
    return undefined;
  }
}

type Shown = Pick<Image, 'kind' | 'bytes'> | undefined;

function isSame(image: Shown, found: Shown): boolean {
  if (image === undefined || found === undefined) return image === found;
  return image.kind === found.kind && image.bytes.equals(found.bytes);
}

function shown(image: Shown): string {
  return image === undefined ? 'absent' : `${image.kind} of ${image.bytes.length} bytes`;
}
