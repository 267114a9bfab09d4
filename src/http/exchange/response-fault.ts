/** What is to become of an answer instead of being sent whole. */
export type ResponseFault =
  | { readonly kind: 'drop' }
  /** Sent up to so many bytes of its body; half of them when absent. */
  | { readonly kind: 'truncate'; readonly bytes?: number | undefined };
