import type { CorsRule } from '../../model/resources/service-properties.js';

/** What a rule is looked up by. */
export interface CrossOriginRequest {
  /** As the browser wrote it; undefined when nothing says where the request comes from. */
  readonly origin: string | undefined;
  readonly method: string;
}

/**
 * The rule that decides about a request: the first that has its origin, spelled alike or as `*`,
 * and its method (queue-service §10.2). Only a rule for `*` has a request without an origin.
 */
export function decidingRule(
  rules: readonly CorsRule[],
  { origin, method }: CrossOriginRequest,
): CorsRule | undefined {
  return rules.find(
    (rule) =>
      rule.allowedMethods.includes(method) &&
      (isForAnyOrigin(rule) || (origin !== undefined && rule.allowedOrigins.includes(origin))),
  );
}

export function isForAnyOrigin({ allowedOrigins }: CorsRule): boolean {
  return allowedOrigins.includes('*');
}

/**
 * Whether a name is in a rule's list of headers, in any case: as a member of it, or by beginning
 * with a member that is a prefix.
 */
export function headerCover(members: readonly string[]): (name: string) => boolean {
  const patterns = members.map((member) => member.toLowerCase());
  const names = new Set(patterns.filter((pattern) => !pattern.endsWith('*')));
  const prefixes = patterns
    .filter((pattern) => pattern.endsWith('*'))
    .map((each) => each.slice(0, -1));
  return (name) => {
    const wanted = name.toLowerCase();
    return names.has(wanted) || prefixes.some((prefix) => wanted.startsWith(prefix));
  };
}
