import type { CorsRule } from '../../model/resources/service-properties.js';
import { decidingRule, headerCover, isForAnyOrigin } from './deciding-rule.js';
import { isCacheable } from './load-cors-rules.js';
import type { CrossOriginRequest } from './deciding-rule.js';

/**
 * The CORS headers of an answer, whatever its status (queue-service §10.3, table-service §11.3):
 * name, value, name, value, …
 *
 * @param rules of the service of the account; not empty
 * @param sent the headers that the answer has, name, value, name, value, …
 */
export function crossOriginHeaders(
  rules: readonly CorsRule[],
  request: CrossOriginRequest,
  sent: readonly string[],
): string[] {
  const rule = decidingRule(rules, request);
  const varies = isCacheable(request.method) ? ['Vary', 'Origin'] : [];
  if (rule === undefined) return varies;
  const exposed = exposedHeaders(rule, sent);
  const expose = exposed === '' ? [] : ['Access-Control-Expose-Headers', exposed];
  if (isForAnyOrigin(rule)) return ['Access-Control-Allow-Origin', '*', ...expose];
  return [
    'Access-Control-Allow-Origin',
    request.origin ?? '',
    ...expose,
    'Access-Control-Allow-Credentials',
    'true',
    ...varies,
  ];
}

/** Headers that node appends to an answer. */
const addedLater = ['Date'];

/** The names that the rule lists, and the headers of the answer that match its prefixes. */
function exposedHeaders({ exposedHeaders: members }: CorsRule, sent: readonly string[]): string {
  if (members.length === 0) return '';
  const literals = members.filter((member) => !member.endsWith('*'));
  const isExposed = headerCover(members.filter((member) => member.endsWith('*')));
  const names = new Map(literals.map((name) => [name.toLowerCase(), name]));
  const present = [...sent.filter((_text, index) => index % 2 === 0), ...addedLater];
  for (const name of present) {
    const key = name.toLowerCase();
    if (!names.has(key) && isExposed(name)) {
      names.set(key, name);
    }
  }
  return [...names.values()].join(',');
}
