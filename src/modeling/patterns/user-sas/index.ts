// Tokens for end users. See docs/guides/patterns/user-sas.md.

export { removeAccessPolicy, setAccessPolicy, type AccessPolicy } from './access-policy.js';
export type { KeyScope, ScopeOf as SasScopeOf } from './key-scope.js';
export { sasCacheOf, type SasCache, type CachedToken, type SasCacheOptions } from './sas-cache.js';
export {
  userSasOf,
  type OwnTerms,
  type PolicyTerms,
  type SasOptions,
  type SasPermission,
  type SasSettings,
  type SasTerms,
  type UserSas,
} from './user-sas.js';
