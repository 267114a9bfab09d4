import { makeBlobWorkload, type BlobData } from './blob-workloads.js';
import type { Target } from './http-request.js';
import { isBlobKind, isQueueKind, tablePlan, type WorkloadKind } from './kinds.js';
import type { Workload } from './load.js';
import { makeQueueWorkload } from './queue-workloads.js';
import { makeTableWorkload, type TableData } from './table-workloads.js';

/** The counters of the loads of a run, so that nothing is written twice. */
export interface LoadData {
  readonly table: TableData;
  readonly blobs: BlobData;
}

/** The load of a kind, without the concurrent load. Call it again for every measurement. */
export function makeWorkload(kind: WorkloadKind, target: Target, data: LoadData): Workload {
  if (isQueueKind(kind)) return makeQueueWorkload(kind, target);
  if (isBlobKind(kind)) return makeBlobWorkload(kind, target, data.blobs);
  return makeTableWorkload(tablePlan(kind).operation, target, data.table);
}
