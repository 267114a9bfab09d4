/** The classes of operations that logging is switched on for (blob-service §21.6), in order. */
export const operationClasses = ['read', 'write', 'delete'] as const;
export type OperationClass = (typeof operationClasses)[number];

/** Operations that metrics and logs call otherwise than this server does (blob-service §21.6). */
const analyticsNames: ReadonlyMap<string, string> = new Map([
  ['GetEntity', 'QueryEntity'],
  ['GetTable', 'QueryTable'],
  ['GetTableAcl', 'GetTableACL'],
  ['SetTableAcl', 'SetTableACL'],
  ['PreflightTableRequest', 'TablePreflightRequest'],
]);

/** An operation by the name that metrics and logs have for it. */
export function analyticsName(operation: string): string {
  return analyticsNames.get(operation) ?? operation;
}

const reading = /^(?:Get|List|Peek|Query|Find)|PreflightRequest$/;
const deleting = /^(?:Delete|Clear)/;

/**
 * The class of an operation, by the name that metrics and logs have for it. For `Unknown`, which a
 * request is that names no operation, the method decides.
 */
export function operationClass(name: string, method: string): OperationClass {
  if (name === 'Unknown') return classOfMethod(method);
  if (reading.test(name)) return 'read';
  return deleting.test(name) ? 'delete' : 'write';
}

function classOfMethod(method: string): OperationClass {
  if (method === 'GET' || method === 'HEAD' || method === 'OPTIONS') return 'read';
  return method === 'DELETE' ? 'delete' : 'write';
}
