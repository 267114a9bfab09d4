/** A setting from outside that cannot be used; the message says which member, and what would do. */
export class InvalidSettingError extends Error {
  override readonly name = 'InvalidSettingError';
}
