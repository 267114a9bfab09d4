/** The two HMAC schemes; Lite signs only date and resource. */
export type SharedKeyScheme = 'SharedKey' | 'SharedKeyLite';

export interface SharedKeyCredential {
  readonly kind: 'shared-key';
  readonly scheme: SharedKeyScheme;
  /** The account the client claims to be; not necessarily the one it addresses. */
  readonly account: string;
  /** Base64, as sent. */
  readonly signature: string;
}
