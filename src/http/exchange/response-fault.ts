/** How an answer is altered instead of being sent whole. */
export type ResponseFault =
  | { readonly kind: 'drop' }
  /** Sends up to `bytes` of the body; half of it when absent. */
  | { readonly kind: 'truncate'; readonly bytes?: number | undefined };
