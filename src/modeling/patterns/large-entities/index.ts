// Values of any size. See docs/guides/patterns/large-entities.md.

export { MissingValueError } from './assembly.js';
export type { BlobDetails, BlobPage as ListedBlobs, BlobPort, ListedBlob } from './blob-port.js';
export type { ValueEncoding } from './compression.js';
export { openValueBlobs } from './container-blobs.js';
export { largeBinary, largeJson, largePropertiesOf, largeString } from './large-properties.js';
export { withLargeValues, type LargeTable } from './large-table.js';
export type { Manifest as LargeManifest, ManifestValue as LargeManifestValue } from './manifest.js';
export type { BlobLocation, LargeOptions } from './options.js';
export {
  verifyLargeValues,
  type LargeReport,
  type UnreadableValue,
  type VerifyOptions as VerifyLargeOptions,
} from './verify.js';
