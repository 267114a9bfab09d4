/** Relaxations in reading credentials. None makes a wrong signature valid. */
export interface CredentialRules {
  /** True when a request signed with a key needs no date. */
  readonly isDateOptional: boolean;
  /** True when a signature in the query is tried after an `Authorization` header is refused. */
  readonly triesAll: boolean;
}

/** The rules of the cloud service. */
export const strictCredentialRules: CredentialRules = Object.freeze({
  isDateOptional: false,
  triesAll: false,
});
