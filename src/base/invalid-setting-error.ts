/**
 * A setting from outside that cannot be used. The message names the member and the accepted values.
 */
export class InvalidSettingError extends Error {
  override readonly name = 'InvalidSettingError';
}
