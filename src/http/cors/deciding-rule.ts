import type { CorsRule } from '../../wire/resources/service-properties.js';

/** What a rule is looked up by. */
export interface CrossOriginRequest {
  /** As the browser wrote it; undefined when nothing says where the request comes from. */
  readonly origin: string | undefined;
  readonly method: string;
}

/**
 * The rule that decides about a request: the first that has its origin, spelled alike or as `*`,
 * and its method (spec queue-service §10.2). Only a rule for `*` has a request without an origin.
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

/** Whether a member of a rule's list of headers is the name or a prefix of it, in any case. */
export function coversHeader(member: string, name: string): boolean {
  const [pattern, wanted] = [member.toLowerCase(), name.toLowerCase()];
  return pattern.endsWith('*') ? wanted.startsWith(pattern.slice(0, -1)) : wanted === pattern;
}
