// See docs/guides/patterns/eventually-consistent-transactions.md.

export { blobIn, type BlobContainer, type BlobPlaceOptions } from './blob-place.js';
export { fileIn } from './file-place.js';
export type { Place, Slot } from './place.js';
export { bytesOfRow, rowOfBytes } from './row-bytes.js';
export type { RowContent } from '../../rows/row-parts.js';
export { rowIn, type TableRows } from './row-place.js';
export { StepConflictError, type Step, type StepContext, type StepOutcome } from './step.js';
export {
  copyStep,
  mirrorStep,
  moveStep,
  type MirrorOptions,
  type Readable,
  type TransferOptions,
} from './transfer-steps.js';
export {
  defineWorkflow,
  UnfinishedIntentError,
  type PerformOptions,
  type StepReport,
  type Workflow,
  type WorkflowOptions,
  type WorkflowOutcome,
} from './workflow.js';
export { deleteStep, upsertStep } from './write-steps.js';
