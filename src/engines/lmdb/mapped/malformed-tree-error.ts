/** The file does not contain a well-formed tree. */
export class MalformedTreeError extends Error {}
