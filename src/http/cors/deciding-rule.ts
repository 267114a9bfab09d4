import type { CorsRule } from '../../model/resources/service-properties.js';

/** The fields of a request that select a rule. */
export interface CrossOriginRequest {
  /** As the browser wrote it; undefined when the request has no origin. */
  readonly origin: string | undefined;
  readonly method: string;
}

/**
 * The first rule with the request's origin, spelled alike or as `*`, and its method (queue-service
 * §10.2). A request without an origin matches only rules for `*`.
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
 * A predicate: true for names in a rule's list of headers, in any case; a member may be a prefix.
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
