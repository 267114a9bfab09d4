import type { RowProperties, WireValue } from '../../rows/row.js';
import { transactionWritesMax } from '../../table/gateway.js';
import { operationBytes, transactionBytes, transactionBytesMax } from '../../table/request-size.js';
import type { Advice } from '../findings/advice.js';
import type { EntitySize } from '../sizes/entity-size.js';
import { finding, type Finding } from '../findings/finding.js';
import type { OperationPlan } from '../plans/operation-plan.js';

/** Transactions that the service, and this library, would refuse. */
export function transactionFindings(advice: Advice): readonly Finding[] {
  return advice.plans.flatMap((plan) => planFindings(advice, plan));
}

function planFindings({ rowSets }: Advice, plan: OperationPlan): readonly Finding[] {
  const { transactionRows: writes, name } = plan;
  if (writes === 0) return [];
  const subject = `operation '${name}'`;
  const found: Finding[] = [];
  if (writes > transactionWritesMax) {
    const figures = { writes, limit: transactionWritesMax };
    found.push(finding('error', 'transaction-too-many', subject, figures));
  }
  const largest = bytesOf(rowSets.entities.size, 'maximum', writes);
  if (largest > transactionBytesMax) {
    const isUsual = bytesOf(rowSets.entities.size, 'average', writes) > transactionBytesMax;
    const figures = { bytes: largest, limit: transactionBytesMax };
    found.push(finding(isUsual ? 'error' : 'warning', 'transaction-too-large', subject, figures));
  }
  return found;
}

/** Bytes of the request, as the library counts them before it sends. */
function bytesOf(size: EntitySize, which: 'average' | 'maximum', writes: number): number {
  const text = (units: number): string => 'x'.repeat(Math.ceil(Math.min(units, textMax)));
  const properties: Record<string, WireValue> = {};
  for (const { storedName, content, units } of size.fields) {
    properties[storedName] = wireOf(content, text(units[which]));
  }
  const row = {
    partitionKey: text(size.partitionKey[which]),
    rowKey: text(size.rowKey[which]),
    properties: properties as RowProperties,
  };
  return transactionBytes([]) + writes * operationBytes({ kind: 'insert', row });
}

/** More than any entity holds: larger ones are refused anyway. */
const textMax = 2 ** 20;

function wireOf(content: EntitySize['fields'][number]['content'], text: string): WireValue {
  switch (content) {
    case 'text':
      return { type: 'String', value: text };
    case 'bytes':
      return { type: 'Binary', value: Buffer.from(text) };
    default:
      return { type: 'Int64', value: 0n };
  }
}
