import type { DamagedExtent, ScrubStep } from '../content-store.js';
import { ContentDamagedError, ExtentMissingError } from '../errors.js';
import type { ContentFiles } from './content-files.js';
import { ownerOf } from './extent-owner.js';
import { extentsFolder, idOf, isSession, sessionFolder, type ExtentPlace } from './extent-place.js';
import { verifiedBytes } from './extent-reader.js';
import { extentsIn } from './leaf-extents.js';

/** A step ends after this many bytes or extents. */
const stepBytes = 8 * 1024 * 1024;
const stepExtents = 64;

/**
 * The state of an extent without an end: it is being written, a dead session has left it, or its
 * end was lost.
 */
export type UnfinishedState = 'being-written' | 'left' | 'truncated';

export interface ScrubOptions {
  readonly files: ContentFiles;
  /** The state of an extent without an end. */
  readonly unfinishedStateOf: (place: ExtentPlace) => UnfinishedState;
}

/** Reads all extents and compares them with their checksums. Changes nothing. */
export async function* scrubExtents(options: ScrubOptions): AsyncGenerator<ScrubStep, void, void> {
  const step = new StepInProgress();
  for (const session of (await options.files.list(extentsFolder)).filter(isSession)) {
    for (const leaf of await options.files.list(sessionFolder(session))) {
      for (const place of await extentsIn(options.files, session, leaf)) {
        for await (const _ of scrubOne(options, place, step)) yield step.take();
      }
    }
  }
  yield step.take();
}

class StepInProgress {
  #extents = 0;
  #bytes = 0;
  #damaged: DamagedExtent[] = [];

  get isFull(): boolean {
    return this.#bytes >= stepBytes || this.#extents >= stepExtents;
  }

  read(bytes: number): void {
    this.#bytes += bytes;
  }

  end(damaged: readonly DamagedExtent[]): void {
    this.#extents += 1;
    this.#damaged.push(...damaged);
  }

  take(): ScrubStep {
    const step = { extents: this.#extents, bytes: this.#bytes, damaged: this.#damaged };
    this.#extents = 0;
    this.#bytes = 0;
    this.#damaged = [];
    return step;
  }
}

/** Reads one extent. Yields whenever the step is full. */
async function* scrubOne(
  { files, unfinishedStateOf }: ScrubOptions,
  place: ExtentPlace,
  step: StepInProgress,
): AsyncGenerator<void, void, void> {
  const id = idOf(place);
  try {
    for await (const bytes of verifiedBytes(files, place)) {
      step.read(bytes);
      if (step.isFull) yield;
    }
    const found = await ownerOf(files, place);
    // Absent: it was freed meanwhile.
    const isWell = found.kind === 'known' || found.kind === 'absent';
    step.end(isWell ? [] : [{ id, owner: undefined, offset: 0, problem: 'damaged' }]);
  } catch (error) {
    if (error instanceof ExtentMissingError) return;
    if (!(error instanceof ContentDamagedError)) throw error;
    const found = await ownerOf(files, place);
    if (found.kind === 'absent') return;
    const fate = error.problem === 'truncated' ? unfinishedStateOf(place) : 'truncated';
    if (fate === 'being-written') return;
    const problem = fate === 'left' ? 'unfinished' : error.problem;
    const owner = found.kind === 'known' ? found.owner : undefined;
    step.end([{ id, owner, offset: error.offset, problem }]);
  }
  if (step.isFull) yield;
}
