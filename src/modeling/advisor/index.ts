// Advice on a design before it is built, or on an existing table: see docs/guides/patterns.

export { explain, type ExplainOptions } from './explain.js';
export { reportJson, reportText } from './report-text.js';
export { measure, type Measurement, type MeasureOptions } from './measure.js';
export { counts, uniform, zipf, type Distribution } from './facts/distribution.js';
export type { LookUpOf, Operation, Workload, WriteKind } from './facts/workload.js';
export type { FactsOf, PropertyFacts, SizeRange, ValueOrder } from './facts/property-facts.js';
export { examplePrices, type BilledClass, type CapacityPrice, type PriceTable } from './prices.js';
export { cloudTargets, type ServiceTargets } from './plans/service-targets.js';
export type { Estimate } from './plans/estimate.js';
export type { Finding, FindingOf, Severity } from './findings/finding.js';
export type {
  Answer,
  AreaFacts,
  FieldFacts,
  OperationAnswers,
  PlacementDesign,
  QueryFacts,
  ShardFacts,
  ShardKeyFacts,
  SystemFacts,
} from './placement/design.js';
export { type PlacementFinding, reviewPlacement } from './placement/review-placement.js';
export { designOf, type PlacedDesign, type PlacedWorkload } from './design-of.js';
export { type ShardLoad, shardLoadOf } from './placement/shard-load.js';
export type { Figures, FindingCode } from './findings/finding-texts.js';
export type { RequestClass } from './plans/access.js';
export type {
  CapacityReport,
  ClassReport,
  CostReport,
  LoadReport,
  OperationReport,
  PartitionReport,
  PlaceReport,
  Report,
} from './report.js';
