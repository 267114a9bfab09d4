import { Router } from '../exchange/router.js';
import type { FaultRule } from '../faults/rule.js';
import type { Faults } from '../faults/injector.js';
import type { ThrottleSetting } from '../throttle/limits.js';
import { migrationRoutes, type MigrationTarget } from './migration.js';
import { partitionRoutes, type PartitionTarget } from './partitions.js';
import { ControlError, type ControlReply } from './reply.js';
import { ok, segmentAt, type ControlRequest, type ControlRoute } from './route.js';

/**
 * The server as the control API sees it. It validates rules and limits, whatever their static type.
 */
export interface ControlTarget extends PartitionTarget, MigrationTarget {
  readonly faults: Faults;
  readonly throttle: {
    readonly setting: ThrottleSetting;
    readonly refused: number;
    set(setting: ThrottleSetting): void;
  };
  readonly snapshots: readonly { readonly name: string }[];
  /** The state of the server, for people. */
  status(): Readonly<Record<string, unknown>>;
  reset(): Promise<void>;
  snapshot(name: string): Promise<void>;
  restore(name: string): Promise<void>;
  deleteSnapshot(name: string): boolean;
}

function faultsOf({ faults }: ControlTarget): ControlReply {
  return ok({ faults: faults.list() });
}

function throttleOf({ throttle: { setting, refused } }: ControlTarget): ControlReply {
  return ok({ throttle: setting, refused });
}

function snapshotsOf({ snapshots }: ControlTarget): ControlReply {
  return ok({ snapshots });
}

function nameOf(request: ControlRequest): string {
  return segmentAt(request, 1);
}

function notThere(what: string, name: string, known: readonly string[]): ControlError {
  const there = known.length === 0 ? 'there is none' : `there is: ${known.join(', ')}`;
  return new ControlError(404, `There is no ${what} '${name}'; ${there}.`);
}

function namesOf(list: readonly { readonly name: string }[]): readonly string[] {
  return list.map(({ name }) => name);
}

const routes: readonly ControlRoute<ControlTarget>[] = [
  { methods: ['GET'], path: ['status'], answer: (target) => ok(target.status()) },
  { methods: ['GET'], path: ['faults'], answer: faultsOf },
  {
    methods: ['POST'],
    path: ['faults'],
    answer({ faults }, { body }) {
      return { status: 201, body: faults.add(body as FaultRule) };
    },
  },
  {
    methods: ['PUT'],
    path: ['faults'],
    answer(target, { body }) {
      target.faults.replace(body as readonly FaultRule[]);
      return faultsOf(target);
    },
  },
  {
    methods: ['DELETE'],
    path: ['faults'],
    answer(target) {
      target.faults.clear();
      return faultsOf(target);
    },
  },
  {
    methods: ['GET'],
    path: ['faults', '*'],
    answer({ faults }, request) {
      const name = nameOf(request);
      const found = faults.list().find((each) => each.name === name);
      if (found === undefined) throw notThere('fault rule', name, namesOf(faults.list()));
      return ok(found);
    },
  },
  {
    methods: ['DELETE'],
    path: ['faults', '*'],
    answer(target, request) {
      const name = nameOf(request);
      if (target.faults.remove(name)) return faultsOf(target);
      throw notThere('fault rule', name, namesOf(target.faults.list()));
    },
  },
  { methods: ['GET'], path: ['throttle'], answer: throttleOf },
  {
    methods: ['PUT'],
    path: ['throttle'],
    answer(target, { body }) {
      target.throttle.set(body as ThrottleSetting);
      return throttleOf(target);
    },
  },
  {
    methods: ['POST'],
    path: ['reset'],
    async answer(target) {
      await target.reset();
      return ok({ reset: true });
    },
  },
  { methods: ['GET'], path: ['snapshots'], answer: snapshotsOf },
  {
    methods: ['PUT'],
    path: ['snapshots', '*'],
    async answer(target, request) {
      await target.snapshot(nameOf(request));
      return snapshotsOf(target);
    },
  },
  {
    methods: ['POST'],
    path: ['snapshots', '*', 'restore'],
    async answer(target, request) {
      const name = nameOf(request);
      const names = namesOf(target.snapshots);
      if (!names.includes(name)) throw notThere('snapshot', name, names);
      await target.restore(name);
      return ok({ restored: name });
    },
  },
  {
    methods: ['DELETE'],
    path: ['snapshots', '*'],
    answer(target, request) {
      const name = nameOf(request);
      if (target.deleteSnapshot(name)) return snapshotsOf(target);
      throw notThere('snapshot', name, namesOf(target.snapshots));
    },
  },
  ...partitionRoutes,
  ...migrationRoutes,
];

const router = new Router<ControlRequest, ControlRoute<ControlTarget>>(routes, isAtPath);

function isAtPath({ path }: ControlRoute<ControlTarget>, { segments }: ControlRequest): boolean {
  if (path.length !== segments.length) return false;
  return path.every((part, index) => part === '*' || part === segments[index]);
}

/** Throws `ControlError` for an unknown route, and the errors of the target. */
export async function answerControl(
  target: ControlTarget,
  request: ControlRequest,
): Promise<ControlReply> {
  const route = router.find(request);
  if (route !== undefined) return route.answer(target, request);
  const allowed = router.methodsOf(request).join(', ');
  if (allowed !== '') {
    throw new ControlError(405, `This path has: ${allowed}.`, { Allow: allowed });
  }
  const known = routes.map(({ methods, path }) => `${methods.join(', ')} /${path.join('/')}`);
  throw new ControlError(404, `There is no such path. There is: ${known.join('; ')}.`);
}
