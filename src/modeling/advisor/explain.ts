import { unreachable } from '../../base/invariant.js';
import type { AnyDefinition } from '../definition/entity-definition.js';
import type { Advice } from './findings/advice.js';
import { capacityFormula } from './sizes/capacity-formula.js';
import { mapEstimate, sumOf } from './plans/estimate.js';
import { bySeverity } from './findings/finding.js';
import { listEntries } from './plans/index-upkeep.js';
import { listSize } from './plans/list-size.js';
import { loadsOf } from './plans/load.js';
import { planOf, requestsOf, type OperationPlan } from './plans/operation-plan.js';
import { rowSetsOf, type RowSet, type RowSets } from './plans/row-set.js';
import {
  capacityCost,
  examplePrices,
  requestCost,
  secondsPerMonth,
  type BilledClass,
  type PriceTable,
} from './prices.js';
import type {
  CapacityReport,
  ClassReport,
  LoadReport,
  OperationReport,
  PlaceReport,
  Report,
} from './report.js';
import { indexFindings } from './rules/index-rules.js';
import { keyFindings } from './rules/key-rules.js';
import { loadFindings } from './rules/load-rules.js';
import { measurementFindings } from './rules/measurement-rules.js';
import { queryFindings } from './rules/query-rules.js';
import { sizeFindings } from './rules/size-rules.js';
import { transactionFindings } from './rules/transaction-rules.js';
import { cloudTargets, type ServiceTargets } from './plans/service-targets.js';
import type { RequestClass, Access } from './plans/access.js';
import {
  checkWorkload,
  type AnyIndexed,
  type AnyWorkload,
  type LookUpOf,
  type Workload,
} from './facts/workload.js';

/** Prices and targets other than the defaults. */
export interface ExplainOptions {
  /** Your own prices; `examplePrices` when absent, which are an example and outdated. */
  readonly prices?: PriceTable;
  /** Targets of the service. Absent: those of the cloud service. */
  readonly targets?: Partial<ServiceTargets>;
}

/**
 * Predicts what a design does under a workload: for each operation its plan class, requests,
 * entities read and monthly cost; the size of the rows; the load of partitions and the account; and
 * its problems. Sends nothing and reads no clock. Throws `ValueError` for a workload that
 * contradicts itself or the definition.
 */
export function explain<X extends AnyIndexed>(
  design: X,
  workload: Workload<X['entity'], LookUpOf<X>>,
  options?: ExplainOptions,
): Report;
export function explain<D extends AnyDefinition>(
  design: D,
  workload: Workload<D>,
  options?: ExplainOptions,
): Report;
export function explain(
  design: AnyDefinition | AnyIndexed,
  given: object,
  { prices = examplePrices, targets: told = {} }: ExplainOptions = {},
): Report {
  const { entity, indexes } = 'entity' in design ? design : { entity: design, indexes: [] };
  const workload = given as AnyWorkload;
  checkWorkload(workload, entity);
  const targets = { ...cloudTargets, ...told };
  const rowSets = rowSetsOf(entity, indexes, workload);
  const plans = workload.operations.map((operation) => planOf(rowSets, operation, targets));
  const loads = loadsOf(rowSets, plans);
  const operations = plans.map((plan) => operationReport(plan, prices));
  const capacity = capacityReport(rowSets);
  const requestsPerSecond = plans.reduce(
    (sum, plan) => sum + plan.operation.perSecond * requestsOf(plan).expected,
    workload.otherRequestsPerSecond ?? 0,
  );
  const advice: Advice = {
    rowSets,
    workload,
    plans,
    loads,
    targets,
    requestsPerSecond,
    bytes: capacity.bytes,
  };
  const capacityPrice = capacityCost(prices, capacity.bytes);
  const requestPrice = operations.reduce((sum, { costPerMonth }) => sum + costPerMonth, 0);
  return frozen({
    version: 1,
    subject: entity.type,
    rows: workload.rows,
    operations,
    capacity,
    load: loadReport(advice),
    cost: {
      currency: prices.currency,
      prices: prices.label,
      region: prices.region,
      asOf: prices.asOf,
      capacity: capacityPrice,
      requests: requestPrice,
      total: capacityPrice + requestPrice,
    },
    findings: bySeverity([
      ...sizeFindings(advice),
      ...transactionFindings(advice),
      ...loadFindings(advice),
      ...keyFindings(advice),
      ...queryFindings(advice),
      ...indexFindings(advice),
      ...measurementFindings(advice),
    ]),
  });
}

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.values(value).forEach(frozen);
    Object.freeze(value);
  }
  return value;
}

function operationReport(plan: OperationPlan, prices: PriceTable): OperationReport {
  const { operation, name, planClass, accesses, returned } = plan;
  const { kind, perSecond, averagePerSecond = perSecond } = operation;
  const perMonth = averagePerSecond * secondsPerMonth;
  return {
    name,
    kind,
    ...(planClass === undefined ? {} : { planClass }),
    perSecond,
    requests: requestsOf(plan, 'caller'),
    requestsLater: requestsOf(plan, 'worker'),
    classes: classReports(accesses),
    entitiesRead: sumOf(accesses.map(({ read }) => read)),
    entitiesReturned: returned,
    entitiesWritten: sumOf(accesses.map(({ written }) => written)),
    requestsPerMonth: requestsOf(plan).expected * perMonth,
    costPerMonth: accesses.reduce((sum, { request, requests }) => {
      const billed = billedAs(request);
      return billed === undefined
        ? sum
        : sum + requestCost(prices, billed, requests.expected * perMonth);
    }, 0),
  };
}

function classReports(accesses: readonly Access[]): readonly ClassReport[] {
  const found = new Map<string, ClassReport>();
  for (const { request, rowSet, requests } of accesses) {
    const name = rowSet?.name ?? request;
    const id = `${request} ${name}`;
    const before = found.get(id);
    found.set(id, {
      class: request,
      place: name,
      requests: before === undefined ? requests : sumOf([before.requests, requests]),
    });
  }
  return [...found.values()];
}

/** Undefined for requests to blobs, which have prices of their own. */
function billedAs(request: RequestClass): BilledClass | undefined {
  switch (request) {
    case 'point-read':
      return 'read';
    case 'range-read':
      return 'query';
    case 'insert':
    case 'update':
      return 'write';
    case 'delete':
    case 'transaction':
    case 'queue':
      return request;
    case 'blob':
      return undefined;
    default:
      return unreachable(request);
  }
}

function capacityReport(rowSets: RowSets): CapacityReport {
  const { entities, indexes } = rowSets;
  const reports = [entities, ...indexes]
    .filter(({ index }) => index?.place !== 'blob')
    .map((rowSet) => placeReport(rowSet, rowSets));
  return {
    bytes: reports.reduce((sum, { bytes }) => sum + bytes, 0),
    places: reports,
    formula: capacityFormula.text,
    source: capacityFormula.source,
  };
}

function placeReport(rowSet: RowSet, rowSets: RowSets): PlaceReport {
  const { name, rows, size, index } = rowSet;
  const { bytes, overheadBytes } = size;
  const rowBytes = index?.kind === 'list' ? listBytes(rowSet, rowSets) : bytes;
  return { name, rows, rowBytes, overheadBytes, bytes: rows * rowBytes.average };
}

/** Together, the lists name every entity once, so the average length follows from their number. */
function listBytes(rowSet: RowSet, rowSets: RowSets): PlaceReport['rowBytes'] {
  const { index, rows } = rowSet;
  const entries = listEntries(rowSet, rowSets);
  const average = rows === 0 ? 0 : rowSets.entities.rows / rows;
  const bytes = mapEstimate({ ...entries, expected: average }, (count) =>
    index?.kind === 'list' ? listSize(index, rowSet, rowSets.entities, count).bytes : 0,
  );
  return { average: bytes.expected, maximum: Math.max(bytes.expected, bytes.worst) };
}

function loadReport({ loads, targets, requestsPerSecond }: Advice): LoadReport {
  const target = targets.partitionEntitiesPerSecond;
  return {
    requestsPerSecond,
    requestsPerSecondTarget: targets.accountRequestsPerSecond,
    partitionTarget: target,
    places: loads.map((load) => ({
      name: load.rowSet.name,
      partitions: load.rowSet.partitions.values,
      entitiesPerSecond: load.entitiesPerSecond,
      busiestPerSecond: load.busiestPerSecond,
      busiestShare: load.busiestShare,
      ...(load.busiestOperation === undefined
        ? {}
        : { busiestOperation: load.busiestOperation.name }),
      partitionsOverTarget: load.above(target),
    })),
  };
}
