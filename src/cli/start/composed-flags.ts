import { tlsValue } from './tls-options.js';
import { oauthValue } from './oauth-options.js';
import { byServiceOption } from '../../app/options/addresses.js';
import type { ComposeFlags, OptionName } from './option-values.js';

/** A flag that may stand without a text says nothing then. */
const textOrNothing: ComposeFlags = (given) =>
  given.map(({ value }) => value).findLast((value) => value !== true);

const keepAlive: ComposeFlags = (given) => {
  const seconds = Number(given.at(-1)?.value);
  return { keepAliveTimeoutMs: seconds * 1000 };
};

/** Options that several flags make, or whose flags say something else than programs do. */
export const composedFlags: { readonly [Name in OptionName]?: ComposeFlags } = {
  ...byServiceOption('Host', () => textOrNothing),
  ...byServiceOption('Limits', () => keepAlive),
  tls: tlsValue,
  oauth: oauthValue,
};
