/**
 * The metadata of a queue or a container, from `x-ms-meta-` headers (queue-service §5.2): pairs in
 * the order written, names spelled as written. Names are compared without case.
 */
export type Metadata = readonly (readonly [name: string, value: string])[];
