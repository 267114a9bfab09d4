import { tlsValue } from './tls-options.js';
import { oauthValue } from './oauth-options.js';
import { byServiceOption } from '../../app/options/addresses.js';
import type { ComposeFlags, OptionName } from './option-values.js';

/** A flag without its optional text has no value. */
const textOrNothing: ComposeFlags = (given) =>
  given.map(({ value }) => value).findLast((value) => value !== true);

const keepAlive: ComposeFlags = (given) => {
  const seconds = Number(given.at(-1)?.value);
  return { keepAliveTimeoutMs: seconds * 1000 };
};

/** An object whose members are flags of their own. */
const parts: ComposeFlags = (given) =>
  Object.fromEntries(given.map(({ flag: { part = '' }, value }) => [part, value] as const));

/** Options composed of several flags, or with flags of another form than in programs. */
export const composedFlags: { readonly [Name in OptionName]?: ComposeFlags } = {
  ...byServiceOption('Host', () => textOrNothing),
  ...byServiceOption('Limits', () => keepAlive),
  tls: tlsValue,
  oauth: oauthValue,
  copySources: parts,
};
