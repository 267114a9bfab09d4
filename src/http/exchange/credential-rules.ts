/** How strictly the credentials of a request are read. None makes a wrong signature a right one. */
export interface CredentialRules {
  /** Whether a request signed with a key may have no date. */
  readonly isDateOptional: boolean;
  /** Whether a signature in the query is tried when an `Authorization` header is refused. */
  readonly triesAll: boolean;
}

/** Those of the cloud service. */
export const strictCredentialRules: CredentialRules = Object.freeze({
  isDateOptional: false,
  triesAll: false,
});
