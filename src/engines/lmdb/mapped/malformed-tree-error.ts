/** What is in the file is not what a tree has. */
export class MalformedTreeError extends Error {}
